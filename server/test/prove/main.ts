import { checkLogs, type Findings } from './check-logs.ts';
import { helpText, readCommand } from './command-line.ts';
import { prove, readLogs } from './prove.ts';
import { hasPassed, summaryOf } from './report.ts';

/** `npm run prove`: command-line.ts explains its arguments. */

try {
  const command = readCommand(process.argv.slice(2), Date.now());
  switch (command.action) {
    case 'help':
      console.log(helpText());
      break;
    case 'check':
      conclude(checkLogs(readLogs(command.folder)));
      break;
    case 'run': {
      const { seed, out } = command.options;
      console.log(`Seed ${seed}; logs and report in ${out}`);
      const { findings } = await prove({ ...command.options, progress: console.log });
      conclude(findings);
    }
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function conclude(findings: Findings): void {
  console.log(summaryOf(findings));
  for (const { rule, subject, detail } of findings.violations.slice(0, 50)) {
    console.error(`${rule}: ${subject}: ${detail}`);
  }
  if (!hasPassed(findings)) process.exitCode = 1;
}

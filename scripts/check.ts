import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { staleMistakes } from './generated.ts';
import { ROOT } from './project-files.ts';
import { releaseMistakes } from './released-api.ts';
import { tidyMistakes } from './hygiene.ts';
import { wallMistakes } from './boundaries.ts';

/**
 * The whole gate, `npm run check`: quick steps first, and the first that fails ends it. Names of
 * steps as arguments (`npm run check -- walls tidy`) run only those.
 */

interface Step {
  name: string;
  title: string;
  /** Whether all is well; it has told what is not. */
  run: () => boolean | Promise<boolean>;
}

/** What hangs is told as a failure, long before whoever waits for the gate gives up. */
const STEP_MS_MAX = 45 * 60_000;

let testSummary = '';
const scratch = mkdtempSync(path.join(tmpdir(), 'postrider-check-'));
/** Where tests note what the server answered. */
const answers = path.join(scratch, 'answers');
/** Where the tests that passed at their second try alone are noted. */
const secondTries = path.join(scratch, 'second-tries.json');
/** A busy machine may trip a few; more are a fault of ours. */
const SECOND_TRIES_MAX = 5;

const STEPS: Step[] = [
  {
    name: 'format',
    title: 'Format and lint',
    run: () => tool('biome', 'check', '--error-on-warnings', '.'),
  },
  { name: 'tidy', title: 'Leftovers, links and paths', run: () => tell(tidyMistakes()) },
  { name: 'walls', title: 'Walls between rooms', run: () => tell(wallMistakes()) },
  { name: 'generated', title: 'Generated files', run: () => tell(staleMistakes()) },
  { name: 'api', title: 'The API since the last release', run: () => tell(releaseMistakes()) },
  { name: 'openapi', title: 'The OpenAPI document', run: lintOpenapi },
  { name: 'types', title: 'Types', run: checkTypes },
  { name: 'tests', title: 'Tests', run: runTests },
  { name: 'answers', title: 'What was answered, and what is documented', run: compareAnswers },
];

process.exitCode = await check(process.argv.slice(2));
rmSync(scratch, { recursive: true, force: true });

async function check(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    console.error(
      `No such step: ${unknown.join(', ')}. There are ${STEPS.map((step) => step.name).join(', ')}.`,
    );
    return 2;
  }
  const startedAt = performance.now();
  for (const step of STEPS) {
    if (wanted.length > 0 && !wanted.includes(step.name)) continue;
    const stepStartedAt = performance.now();
    console.log(`\n━━ ${step.title}`);
    const good = await step.run();
    console.log(`   ${good ? 'ok' : 'FAILED'}, ${seconds(stepStartedAt)}`);
    if (!good) {
      console.log(`\nThe check failed at: ${step.title}. ${testSummary}`);
      return 1;
    }
  }
  console.log(`\nThe check passed in ${seconds(startedAt)}. ${testSummary}`);
  return 0;
}

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

function tell(mistakes: readonly string[]): boolean {
  for (const mistake of mistakes) console.log(`   ${mistake}`);
  return mistakes.length === 0;
}

function tool(command: string, ...args: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      POSTRIDER_ANSWERS_DIR: answers,
      POSTRIDER_SECOND_TRIES: secondTries,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: 'inherit',
      env,
      timeout: STEP_MS_MAX,
      killSignal: 'SIGKILL',
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (signal) console.log(`   ${command} was ended by ${signal}: did it hang?`);
      resolve(code === 0);
    });
  });
}

async function checkTypes(): Promise<boolean> {
  return (
    (await tool('tsc', '-p', '.')) &&
    (await tool('node', 'dashboard/make-api-types.ts')) &&
    (await tool('tsc', '-p', 'dashboard')) &&
    (await tool('node', 'sdk/build.ts')) &&
    (await tool('tsc', '-p', 'sdk')) &&
    (await tool('tsc', '-p', 'sdk/test/consumer'))
  );
}

async function lintOpenapi(): Promise<boolean> {
  return (
    (await tool('redocly', 'lint', 'openapi.json')) &&
    (await tool('spectral', 'lint', 'openapi.json', '--fail-severity', 'warn'))
  );
}

async function runTests(): Promise<boolean> {
  const report = path.join(scratch, 'tests.json');
  const good = await tool(
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    '--reporter=./scripts/second-tries.ts',
    `--outputFile.json=${report}`,
  );
  if (!existsSync(report) || !existsSync(secondTries)) return false;
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8')) as {
    numPassedTests: number;
    numFailedTests: number;
  };
  const flaky = JSON.parse(readFileSync(secondTries, 'utf8')) as string[];
  for (const name of flaky) console.log(`   passed at its second try alone: ${name}`);
  testSummary = `Tests: ${numPassedTests} passed, ${numFailedTests} failed, ${flaky.length} tried twice.`;
  return good && flaky.length <= SECOND_TRIES_MAX;
}

/** Told, and no reason to fail until one whole run has shown that its list is always empty. */
async function compareAnswers(): Promise<boolean> {
  if (!existsSync(answers)) return tell(['It looks at what the tests noted: run them with it.']);
  return await tool('node', 'server/test/compare-responses.ts', answers);
}

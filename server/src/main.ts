import { runCommand } from './cli/run-command.ts';
import { sendAsOperator } from './send-as-operator.ts';
import { start } from './start.ts';

process.exitCode = await runCommand(process.argv.slice(2), { start, send: sendAsOperator });

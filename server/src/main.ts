import { onOutputError, runCommand } from './cli/run-command.ts';

process.stdout.on('error', onOutputError);
// There is nobody left to tell.
process.stderr.on('error', () => {});

// Loaded when asked for: a command that lists keys need not wait for the whole house.
process.exitCode = await runCommand(process.argv.slice(2), {
  start: async (config) => (await import('./bootstrap/start.ts')).start(config),
  send: async (parts, order) =>
    (await import('./bootstrap/send-as-operator.ts')).sendAsOperator(parts, order),
});

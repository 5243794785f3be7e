import { onOutputError, runCommand } from './cli/run-command.ts';
import { sizeThreadPool } from './config/env.ts';

sizeThreadPool();

process.stdout.on('error', onOutputError);
// An error on stderr cannot be reported anywhere.
process.stderr.on('error', () => {});

// Loaded on demand, so that other commands do not load the whole server.
process.exitCode = await runCommand(process.argv.slice(2), {
  start: async (config) => (await import('./bootstrap/start-server.ts')).start(config),
  startRouter: async (config) => (await import('./bootstrap/start-router.ts')).startRouter(config),
  send: async (parts, order) =>
    (await import('./bootstrap/send-as-operator.ts')).sendAsOperator(parts, order),
});

import { start } from './start.ts';

/** Runs one command line and returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const [command = 'start'] = args;
  if (command === 'start') return start();
  console.error(`Unknown command "${command}".`);
  return 2;
}

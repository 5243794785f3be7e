import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';

/** The message for errors that the operator can fix; undefined for bugs, which keep their stack. */
export function startErrorMessage(error: unknown, { http }: Config): string | undefined {
  if (error instanceof StorageStartError) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // File operations have some of these codes too.
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `${http.host}:${http.port} is already in use. Stop the other program, or set PORT.`;
    case 'EACCES':
      return `This user is not allowed to listen on ${http.host}:${http.port}. Set PORT to a number above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST: ${http.host} is not an address of this machine.`;
    default:
      return undefined;
  }
}

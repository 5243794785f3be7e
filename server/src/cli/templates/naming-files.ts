import { RefusedError } from '../../lib/refused-error.ts';
import { fileOfPointer } from './folder-format.ts';

/** The same refusal, its faults by the files that they are in. */
export function namingFiles(error: unknown): never {
  if (!(error instanceof RefusedError) || error.errors.length === 0) throw error;
  const errors = error.errors.map((one) => ({ ...one, pointer: fileOfPointer(one.pointer ?? '') }));
  throw new RefusedError(error.code, error.message, { errors });
}

import { totalmem } from 'node:os';

/** In bytes: the limit of the container, if there is one, or else the memory of the machine. */
export function usableMemory(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

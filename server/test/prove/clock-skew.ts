import { writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes the clock of a server process jump without the rights of root: a module that is loaded first
 * replaces `Date`, in all threads, and reads the offset from a file. PostgreSQL, the other nodes, the
 * clients and the receiver keep the right time.
 */
export class ClockSkew {
  readonly #file: string;

  constructor(folder: string, node: number) {
    this.#file = path.join(folder, `clock-of-node-${node}`);
    this.set(0);
  }

  set(offsetMs: number): void {
    writeFileSync(this.#file, String(offsetMs));
  }

  /** Threads inherit these options. */
  get nodeOptions(): string[] {
    return ['--import', path.join(import.meta.dirname, 'clock-skew-preload.ts')];
  }

  get env(): Record<string, string> {
    return { CLOCK_SKEW_FILE: this.#file };
  }
}

import { RefusedError } from '../../lib/refused-error.ts';

/**
 * Answers that may be as large as a message or a whole list. Each is held in memory until its client
 * has read it, and reading it from the database takes a connection for a while: a workspace gets a
 * few of them at the same time, the next ones wait for their turn, and nobody else notices.
 */
export class LargeAnswers {
  readonly #byWorkspace = new Map<string, Line>();

  /**
   * Resolves when it is this one's turn, which ends when `gone` aborts: the client has it, or left.
   * Rejects when it left before.
   */
  begin(workspaceId: string, gone: AbortSignal): Promise<void> {
    const line = this.#byWorkspace.get(workspaceId) ?? { running: 0, waiting: [] };
    this.#byWorkspace.set(workspaceId, line);
    if (line.waiting.length >= WAITING_MAX) {
      const detail = `A workspace may wait for ${WAITING_MAX} large answers at the same time.`;
      throw new RefusedError('quota_exceeded', detail, { retryAfterSeconds: 1 });
    }
    return new Promise((resolve, reject) => {
      const turn = { begin: resolve, runs: false };
      const leave = (): void => {
        if (turn.runs) line.running -= 1;
        else {
          line.waiting.splice(line.waiting.indexOf(turn), 1);
          // Nobody reads this; it keeps the work from being done.
          reject(new RefusedError('malformed_request', 'The client left before its turn.'));
        }
        this.#next(workspaceId, line);
      };
      line.waiting.push(turn);
      if (gone.aborted) leave();
      else {
        gone.addEventListener('abort', leave, { once: true });
        this.#next(workspaceId, line);
      }
    });
  }

  #next(workspaceId: string, line: Line): void {
    while (line.running < AT_ONCE_MAX) {
      const turn = line.waiting.shift();
      if (!turn) break;
      turn.runs = true;
      line.running += 1;
      turn.begin();
    }
    if (line.running === 0) this.#byWorkspace.delete(workspaceId);
  }
}

interface Line {
  running: number;
  waiting: { begin: () => void; runs: boolean }[];
}

const AT_ONCE_MAX = 4;
const WAITING_MAX = 1_000;

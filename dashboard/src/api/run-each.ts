import { showErrorToast, showToast } from '../layout/toasts.tsx';
import { formatCount } from '../lib/format.ts';
import { ProblemError, toProblem } from './problem.ts';

const CONCURRENCY = 4;
const RATE_LIMITED_WAIT_MS = 1_000;
const RATE_LIMITED_RETRIES = 30;

/**
 * Sends one request for each item, a few at a time, and reports how many succeeded. An error does
 * not stop the others.
 */
export async function runEach<T>(
  items: readonly T[],
  request: (item: T) => Promise<unknown>,
  labels: { one: string; done: string },
): Promise<void> {
  const queue = items.values();
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await retryWhenLimited(() => request(item));
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const succeeded = items.length - errors.length;
  if (succeeded > 0) showToast(`${formatCount(succeeded, labels.one)} ${labels.done}.`);
  if (errors.length === 0) return;
  const problem = toProblem(errors[0]);
  const failed = `${formatCount(errors.length, labels.one)} not ${labels.done}`;
  showErrorToast(new ProblemError({ ...problem, detail: `${failed}: ${problem.detail}` }));
}

async function retryWhenLimited(request: () => Promise<unknown>): Promise<void> {
  for (let retries = 0; ; retries++) {
    try {
      await request();
      return;
    } catch (error) {
      if (toProblem(error).status !== 429 || retries === RATE_LIMITED_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RATE_LIMITED_WAIT_MS));
    }
  }
}

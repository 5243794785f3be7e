/**
 * Runs tasks that arrive in the same iteration of the event loop one after the other, at its end. When
 * many requests or responses arrive at the same time, each step is then taken for all of them before the
 * next step, and the processor's caches hold the code of that step. One by one, the steps displace each
 * other: accepting a message took a fifth more CPU time, and sending a webhook half as much again.
 */

let tasks: (() => void)[] = [];

/** `task` must not throw. At low load it runs as soon as what has arrived was read. */
export function runInLoopBatch(task: () => void): void {
  if (tasks.push(task) === 1) setImmediate(runAll);
}

/** A function that runs the task once, however often it is called in the same iteration. */
export function onceInLoopBatch(task: () => void): () => void {
  let isAdded = false;
  return () => {
    if (isAdded) return;
    isAdded = true;
    runInLoopBatch(() => {
      isAdded = false;
      task();
    });
  };
}

function runAll(): void {
  const batch = tasks;
  tasks = [];
  for (const task of batch) task();
}

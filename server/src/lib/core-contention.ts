/**
 * Whether the event loop competes for its core: the share of its busy time in which its thread had to
 * wait to run. Measured when asked, at most twice a second, so that an idle process does nothing.
 */
export class CoreContention {
  readonly #read: () => LoopTimes;
  #last: LoopTimes;
  #isHigh = false;

  constructor(read: () => LoopTimes = readLoopTimes) {
    this.#read = read;
    this.#last = read();
  }

  isHigh(): boolean {
    const times = this.#read();
    if (times.atMs - this.#last.atMs < INTERVAL_MS) return this.#isHigh;
    const busyMs = times.busyMs - this.#last.busyMs;
    const runningMs = times.runningMs - this.#last.runningMs;
    this.#last = times;
    this.#isHigh = busyMs > 0 && 1 - runningMs / busyMs > HIGH_SHARE;
    return this.#isHigh;
  }
}

const INTERVAL_MS = 500;
const HIGH_SHARE = 0.25;

/** Of a thread and its event loop, since any time. */
export interface LoopTimes {
  atMs: number;
  /** How long the event loop was not waiting for events. */
  busyMs: number;
  /** CPU time of the thread. */
  runningMs: number;
}

function readLoopTimes(): LoopTimes {
  const { user, system } = process.threadCpuUsage();
  return {
    atMs: performance.now(),
    busyMs: performance.eventLoopUtilization().active,
    runningMs: (user + system) / 1000,
  };
}

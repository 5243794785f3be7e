import { readFileSync } from 'node:fs';

/** Loaded before the server (clock-skew.ts). */

const POLL_MS = 20;
const file = process.env.CLOCK_SKEW_FILE ?? '';
const RealDate = Date;
let offsetMs = 0;

function readOffset(): void {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // It is being written: the next read finds it.
  }
}

const now = (): number => RealDate.now() + offsetMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

readOffset();
setInterval(readOffset, POLL_MS).unref();

import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time and memory of a process and its children. On a shared machine CPU time says more than
 * wall-clock time. Read from /proc; undefined where there is none.
 */
export interface Usage {
  cpuMicros: number;
  /** Shared memory is counted proportionally. */
  memoryMiB: number;
}

export function usageOf(pid: number | undefined): Usage | undefined {
  try {
    const own = statOf(pid as number);
    const usage = {
      cpuMicros: own.cpuMicros + own.endedMicros,
      memoryMiB: memoryOf(pid as number),
    };
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const child = childOf(Number(name), pid as number);
      usage.cpuMicros += child?.cpuMicros ?? 0;
      usage.memoryMiB += child?.memoryMiB ?? 0;
    }
    return usage;
  } catch {
    return undefined;
  }
}

/**
 * CPU time of PostgreSQL, which is a child of the server and has a process for each connection. Precise,
 * because none of them has threads; of those that ended, to a hundredth of a second.
 */
export function databaseCpuMicros(serverPid: number): number {
  try {
    const ended = childrenOf(serverPid).map(endedChildrenMicros);
    const running = databasePids(serverPid).map((pid) => scheduledMicros(pid));
    return [...ended, ...running].reduce((sum, micros) => sum + micros, 0);
  } catch {
    return Number.NaN;
  }
}

/** The processes of PostgreSQL, which is a child of the server. */
export function databasePids(serverPid: number): number[] {
  const mains = childrenOf(serverPid);
  return [...mains, ...mains.flatMap(childrenOf)];
}

/** How often the threads of a process went to sleep, and so had to be woken. */
export function sleepsOf(pid: number): number {
  let count = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1');
    count += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0);
  }
  return count;
}

/** Without its children; shared memory is counted proportionally. */
export function ownMemoryMiB(pid: number): number {
  return memoryOf(pid);
}

/** CPU microseconds by kind of process and, for the server, of thread. */
export type CpuByProcess = Readonly<Record<string, number>>;

export function cpuByProcess(pids: { target: { pid: number }; postgresPid: number }): CpuByProcess {
  const server = pids.target.pid;
  const cpu: Record<string, number> = {
    'Node, main thread': 0,
    'Node, threads': 0,
    'PostgreSQL backends': 0,
    'PostgreSQL vacuum': endedChildrenMicros(pids.postgresPid),
    'PostgreSQL, rest': scheduledMicros(pids.postgresPid),
  };
  const add = (name: string, micros: number): void => {
    cpu[name] = (cpu[name] ?? 0) + micros;
  };
  for (const tid of readdirSync(`/proc/${server}/task`)) {
    const own = scheduledMicros(server, Number(tid));
    add(Number(tid) === server ? 'Node, main thread' : 'Node, threads', own);
  }
  for (const pid of childrenOf(pids.postgresPid)) {
    add(`PostgreSQL${kindOf(pid)}`, scheduledMicros(pid));
  }
  return cpu;
}

/** Of a process of PostgreSQL, which shows its kind as its command line. */
function kindOf(pid: number): string {
  const title = readTitle(pid);
  if (title.includes('autovacuum worker')) return ' vacuum';
  return /\[local\]|\(\d+\)/.test(title) ? ' backends' : ', rest';
}

function readTitle(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** Workers of autovacuum end; the connections of a pool stay. */
function endedChildrenMicros(pid: number): number {
  return statOf(pid).endedMicros;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .split(' ')
    .filter(Boolean)
    .map(Number);
}

function scheduledMicros(pid: number, thread = pid): number {
  try {
    const file = `/proc/${pid}/task/${thread}/schedstat`;
    return Number(readFileSync(file, 'latin1').split(' ')[0]) / 1000;
  } catch {
    // It has just ended.
    return 0;
  }
}

/** Undefined when it is not a child, or has just ended. */
function childOf(pid: number, parent: number): Usage | undefined {
  try {
    const stat = statOf(pid);
    if (stat.parent !== parent) return undefined;
    return { cpuMicros: stat.cpuMicros, memoryMiB: memoryOf(pid) };
  } catch {
    return undefined;
  }
}

/** Linux reports CPU time in hundredths of a second. */
const MICROS_A_TICK = 10_000;

function statOf(pid: number): { parent: number; cpuMicros: number; endedMicros: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The program name is the second field, in parentheses, and may contain anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15);
  return {
    parent: fields[1] ?? 0,
    cpuMicros: (utime + stime) * MICROS_A_TICK,
    endedMicros: (cutime + cstime) * MICROS_A_TICK,
  };
}

/** Swapped memory counts as used. */
function memoryOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const kilobytes = ['Pss', 'SwapPss'].map((what) =>
    Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, one) => sum + one) / 1024;
}

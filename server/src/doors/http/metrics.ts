import { Counter, Gauge, type Histogram, Registry } from 'prom-client';

/** What the door counts: requests by operation and status, and how long they took. */
export interface HttpMetrics {
  /** A counter for one operation, prepared once so that a request costs no look-up by name. */
  operation(id: string): (status: number, elapsedMs: number) => void;
}

export function createRegistry(): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service: 'postrider' });
  return registry;
}

const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createHttpMetrics(registry: Registry): HttpMetrics {
  const requests = new Counter({
    name: 'postrider_http_requests_total',
    help: 'Requests answered, by operation and status.',
    labelNames: ['operation', 'status'] as const,
    registers: [registry],
  });
  const times = new Map<string, Times>();
  registry.registerMetric(histogramOf(times) as unknown as Histogram);
  return {
    operation(id) {
      const time: Times = { buckets: BUCKETS_SECONDS.map(() => 0), count: 0, sum: 0 };
      times.set(id, time);
      const byStatus = new Map<number, Counter.Internal>();
      return (status, elapsedMs) => {
        let count = byStatus.get(status);
        if (!count) {
          count = requests.labels(id, String(status));
          byStatus.set(status, count);
        }
        count.inc();
        observe(time, elapsedMs / 1000);
      };
    },
  };
}

interface Times {
  /** Of each bucket those that are in no smaller one. */
  buckets: number[];
  count: number;
  sum: number;
}

function observe(time: Times, seconds: number): void {
  const bucket = BUCKETS_SECONDS.findIndex((max) => seconds <= max);
  if (bucket >= 0) time.buckets[bucket] = (time.buckets[bucket] as number) + 1;
  time.count += 1;
  time.sum += seconds;
}

/** What the registry asks of a metric. The library's own finds its labels anew at every request. */
function histogramOf(times: ReadonlyMap<string, Times>) {
  const name = 'postrider_http_request_seconds';
  return {
    name,
    async get() {
      const values = [...times]
        .filter(([, { count }]) => count > 0)
        .flatMap(([operation, { buckets, count, sum }]) => {
          let below = 0;
          const value = (metricName: string, amount: number, le?: number | '+Inf') => ({
            metricName,
            value: amount,
            labels: le === undefined ? { operation } : { le, operation },
          });
          return [
            ...BUCKETS_SECONDS.map((max, index) => {
              below += buckets[index] as number;
              return value(`${name}_bucket`, below, max);
            }),
            value(`${name}_bucket`, count, '+Inf'),
            value(`${name}_sum`, sum),
            value(`${name}_count`, count),
          ];
        });
      const help = 'Time from a request to its answer, by operation.';
      return { name, help, type: 'histogram', aggregator: 'sum', values };
    },
  };
}

/** A figure that is read when somebody asks for it. */
export function gauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Promise<number>,
): void {
  new Gauge({
    name: `postrider_${name}`,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

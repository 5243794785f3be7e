import { Counter, Gauge, Histogram, Registry } from 'prom-client';

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
  const seconds = new Histogram({
    name: 'postrider_http_request_seconds',
    help: 'Time from a request to its answer, by operation.',
    labelNames: ['operation'] as const,
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    operation(id) {
      const duration = seconds.labels(id);
      const byStatus = new Map<number, Counter.Internal>();
      return (status, elapsedMs) => {
        let count = byStatus.get(status);
        if (!count) {
          count = requests.labels(id, String(status));
          byStatus.set(status, count);
        }
        count.inc();
        duration.observe(elapsedMs / 1000);
      };
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

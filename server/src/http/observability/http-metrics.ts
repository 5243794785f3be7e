import { Counter, type Metric, Registry } from 'prom-client';

/** What the door counts: requests by operation and status, and how long they took. */
export interface HttpMetrics {
  /** A counter for one operation, prepared once so that a request costs no look-up by name. */
  operation(id: string): (status: number, elapsedMs: number) => void;
}

export function createRegistry(): Registry {
  return new Registry();
}

export interface MetricSample {
  value: number;
  labels?: Readonly<Record<string, string>>;
  /** Where it is not the figure's own, as in the lines of a histogram. */
  metricName?: string;
}

export interface CollectedMetric {
  name: string;
  help: string;
  type: 'gauge' | 'counter' | 'histogram';
  read: () => number | MetricSample[] | Promise<number | MetricSample[]>;
}

/** A figure that is kept elsewhere, and read when somebody asks for it. */
export function addCollectedMetric(
  registry: Registry,
  { name, help, type, read }: CollectedMetric,
): void {
  const metric = {
    name,
    async get() {
      const found = await read();
      const samples: MetricSample[] = typeof found === 'number' ? [{ value: found }] : found;
      return { name, help, type, aggregator: 'sum', values: samples };
    },
  };
  // All that the registry asks of a metric.
  registry.registerMetric(metric as unknown as Metric);
}

const SECONDS = 'postrider_http_request_seconds';
const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createHttpMetrics(registry: Registry): HttpMetrics {
  const requests = new Counter({
    name: 'postrider_http_requests_total',
    help: 'Requests answered, by operation and status.',
    labelNames: ['operation', 'status'] as const,
    registers: [registry],
  });
  const histograms = new Map<string, LatencyHistogram>();
  addCollectedMetric(registry, {
    name: SECONDS,
    help: 'Time from a request to its answer, by operation.',
    type: 'histogram',
    // The library's own finds its labels anew at every request.
    read: () =>
      [...histograms].flatMap(([operation, histogram]) => histogramSamples(operation, histogram)),
  });
  return {
    operation(id) {
      const histogram: LatencyHistogram = {
        buckets: BUCKETS_SECONDS.map(() => 0),
        count: 0,
        sum: 0,
      };
      histograms.set(id, histogram);
      const byStatus = new Map<number, Counter.Internal>();
      return (status, elapsedMs) => {
        let count = byStatus.get(status);
        if (!count) {
          count = requests.labels(id, String(status));
          byStatus.set(status, count);
        }
        count.inc();
        observe(histogram, elapsedMs / 1000);
      };
    },
  };
}

interface LatencyHistogram {
  /** Of each bucket those that are in no smaller one. */
  buckets: number[];
  count: number;
  sum: number;
}

function observe(histogram: LatencyHistogram, seconds: number): void {
  const bucket = BUCKETS_SECONDS.findIndex((max) => seconds <= max);
  if (bucket >= 0) histogram.buckets[bucket] = (histogram.buckets[bucket] as number) + 1;
  histogram.count += 1;
  histogram.sum += seconds;
}

function histogramSamples(
  operation: string,
  { buckets, count, sum }: LatencyHistogram,
): MetricSample[] {
  if (count === 0) return [];
  let cumulative = 0;
  const bucket = (le: string, value: number): MetricSample => ({
    metricName: `${SECONDS}_bucket`,
    value,
    labels: { le, operation },
  });
  return [
    ...BUCKETS_SECONDS.map((max, index) => {
      cumulative += buckets[index] as number;
      return bucket(String(max), cumulative);
    }),
    bucket('+Inf', count),
    { metricName: `${SECONDS}_sum`, value: sum, labels: { operation } },
    { metricName: `${SECONDS}_count`, value: count, labels: { operation } },
  ];
}

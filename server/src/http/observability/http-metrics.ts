import { Counter, type Metric, Registry } from 'prom-client';

/** Request counts by operation and status, and request latencies. */
export interface HttpMetrics {
  /** Returns a recorder for one operation, so that a request needs no lookup by name. */
  operation(id: string): (status: number, elapsedMs: number) => void;
}

export function createRegistry(): Registry {
  return new Registry();
}

export interface MetricSample {
  value: number;
  labels?: Readonly<Record<string, string>>;
  /** Overrides the metric's own name, as for the samples of a histogram. */
  metricName?: string;
}

export interface CollectedMetric {
  name: string;
  help: string;
  type: 'gauge' | 'counter' | 'histogram';
  read: () => number | MetricSample[] | Promise<number | MetricSample[]>;
}

/** Adds a metric whose value is kept elsewhere and read on each scrape. */
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
  // The registry uses only these members of a metric.
  registry.registerMetric(metric as unknown as Metric);
}

const SECONDS = 'postrider_http_request_seconds';
const BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createHttpMetrics(registry: Registry): HttpMetrics {
  const requests = new Counter({
    name: 'postrider_http_requests_total',
    help: 'HTTP requests by operation and status.',
    labelNames: ['operation', 'status'] as const,
    registers: [registry],
  });
  const histograms = new Map<string, LatencyHistogram>();
  addCollectedMetric(registry, {
    name: SECONDS,
    help: 'HTTP request duration by operation.',
    type: 'histogram',
    // prom-client's own histogram looks up its labels on every request.
    read: () =>
      [...histograms].flatMap(([operation, histogram]) => histogramSamples(operation, histogram)),
  });
  return {
    operation(id) {
      // An operation may be offered under several paths.
      const histogram: LatencyHistogram = histograms.get(id) ?? {
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
  /** Counts per bucket, not cumulative. */
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

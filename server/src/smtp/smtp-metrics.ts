import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { REPORT_OUTCOMES, type ReportOutcome } from '../bounces/report-outcome.ts';
import { INBOUND_OUTCOMES, type InboundOutcome } from '../inbound/inbound-receiver.ts';

/** Counts connections, and messages by reply code. */
export interface SmtpServiceMetrics {
  connectionRefused(): void;
  message(code: number, elapsedMs: number): void;
}

const BUCKETS_SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createSmtpServiceMetrics(
  registry: Registry,
  name: 'smtp' | 'return_path',
  label: string,
  connections: () => number,
): SmtpServiceMetrics {
  new Gauge({
    name: `postrider_${name}_connections`,
    help: `Open connections to the ${label} listener.`,
    registers: [registry],
    collect() {
      this.set(connections());
    },
  });
  const refused = new Counter({
    name: `postrider_${name}_connections_refused_total`,
    help: `Connections to the ${label} listener refused by the connection limits.`,
    registers: [registry],
  });
  const messages = new Counter({
    name: `postrider_${name}_messages_total`,
    help: `Messages received by the ${label} listener, by reply code.`,
    labelNames: ['code'] as const,
    registers: [registry],
  });
  const seconds = new Histogram({
    name: `postrider_${name}_message_seconds`,
    help: `Time from a message's final dot to its reply at the ${label} listener.`,
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    connectionRefused: () => refused.inc(),
    message(code, elapsedMs) {
      messages.inc({ code: String(code) });
      seconds.observe(elapsedMs / 1000);
    },
  };
}

export interface AuthMetrics {
  attempt(result: 'accepted' | 'refused' | 'failed'): void;
}

export function createAuthMetrics(registry: Registry): AuthMetrics {
  const logins = new Counter({
    name: 'postrider_smtp_logins_total',
    help: 'SMTP authentication attempts, by result.',
    labelNames: ['result'] as const,
    registers: [registry],
  });
  return { attempt: (result) => logins.inc({ result }) };
}

export interface ReturnPathMetrics {
  report(outcome: ReportOutcome): void;
  inbound(outcome: InboundOutcome): void;
  recipientRefused(): void;
}

export function createReturnPathMetrics(registry: Registry): ReturnPathMetrics {
  const reports = new Counter({
    name: 'postrider_reports_total',
    help: 'Bounces, complaints and other mail to return paths, by outcome.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  for (const outcome of REPORT_OUTCOMES) reports.inc({ outcome }, 0);
  const inbound = new Counter({
    name: 'postrider_inbound_messages_total',
    help: 'Mail for the domains of workspaces, by outcome.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  for (const outcome of INBOUND_OUTCOMES) inbound.inc({ outcome }, 0);
  const refused = new Counter({
    name: 'postrider_return_path_recipients_refused_total',
    help: 'Recipients rejected by the return-path listener as unknown.',
    registers: [registry],
  });
  return {
    report: (outcome) => reports.inc({ outcome }),
    inbound: (outcome) => inbound.inc({ outcome }),
    recipientRefused: () => refused.inc(),
  };
}

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What the door counts: connections, logins, and messages by their reply. */
export interface SmtpMetrics {
  login(result: 'accepted' | 'refused' | 'failed'): void;
  connectionRefused(): void;
  message(code: number, elapsedMs: number): void;
}

const BUCKETS_SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createSmtpMetrics(registry: Registry, connections: () => number): SmtpMetrics {
  new Gauge({
    name: 'postrider_smtp_connections',
    help: 'Connections to the submission port.',
    registers: [registry],
    collect() {
      this.set(connections());
    },
  });
  const refused = new Counter({
    name: 'postrider_smtp_connections_refused_total',
    help: 'Connections to the submission port that were one too many.',
    registers: [registry],
  });
  const logins = new Counter({
    name: 'postrider_smtp_logins_total',
    help: 'Keys shown at the submission port, by what became of it.',
    labelNames: ['result'] as const,
    registers: [registry],
  });
  const messages = new Counter({
    name: 'postrider_smtp_messages_total',
    help: 'Messages handed in by SMTP, by reply code.',
    labelNames: ['code'] as const,
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'postrider_smtp_message_seconds',
    help: 'Time from the final dot of a message to its reply.',
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    login: (result) => logins.inc({ result }),
    connectionRefused: () => refused.inc(),
    message(code, elapsedMs) {
      messages.inc({ code: String(code) });
      seconds.observe(elapsedMs / 1000);
    },
  };
}

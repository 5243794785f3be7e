import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type AlarmKind,
  type AlarmReading,
  deleteAlarm,
  insertAlarm,
  lockAlarms,
  type RaisedAlarm,
  readDegradedDomains,
  readExpiringKeys,
  readFailingWebhooks,
  readQueueAges,
  readRaised,
  readRates,
} from './alarm-store.ts';

/**
 * Alarms for the operator, published as events so that they reach webhooks. Each is raised once per
 * episode and cleared when it is over, in the commit that records it, so no event is sent twice. An
 * alarm clears at 80% of the threshold that raises it, so that a fluctuating rate counts as one
 * episode.
 */
export interface AlarmThresholds {
  /** Shares from 0 to 1 of a sending domain's mail; 0 disables an alarm. */
  bounceRate: number;
  complaintRate: number;
  windowMs: number;
  /** Fewer recipients than this in the window are not significant. */
  recipientsMin: number;
  queueAgeMs: number;
  webhookFailingMs: number;
  /** The remaining lifetime of an API key. */
  keyExpiryMs: number;
  /** The number of DNS records that a domain has lost. */
  domainRecords: number;
}

const CLEAR_RATIO = 0.8;

export class Alarms {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #thresholds: AlarmThresholds;

  constructor(parts: { pool: Pool; clock: Clock; thresholds: AlarmThresholds }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#thresholds = parts.thresholds;
  }

  /** Checks all alarms once. Any number of nodes may call it. */
  async check(): Promise<void> {
    const nowMs = this.#clock.now();
    await inTransaction(this.#pool, async (client) => {
      if (!(await lockAlarms(client))) return;
      const readings = await this.#readAll(client, nowMs);
      const raised = new Map((await readRaised(client)).map((alarm) => [alarmKey(alarm), alarm]));
      const events: NewEvent[] = [];
      for (const reading of readings) {
        const isRaised = raised.get(alarmKey(reading));
        const threshold = this.#thresholdOf(reading.kind);
        if (isRaised) {
          if (shouldStayRaised(reading, threshold)) raised.delete(alarmKey(reading));
        } else if (shouldRaise(reading, threshold)) {
          await insertAlarm(client, { ...reading, raisedAtMs: nowMs });
          events.push(this.#event('alarm.raised', reading, nowMs, nowMs, reading.value));
        }
      }
      // Alarms without a reading that keeps them raised are over.
      for (const alarm of raised.values()) {
        await deleteAlarm(client, alarm);
        const reading = readings.find((one) => alarmKey(one) === alarmKey(alarm));
        const value = reading?.value ?? null;
        events.push(this.#event('alarm.cleared', alarm, alarm.raisedAtMs, nowMs, value));
      }
      await appendEvents(client, events);
    });
  }

  async #readAll(db: Queryable, nowMs: number): Promise<AlarmReading[]> {
    const { windowMs, recipientsMin, queueAgeMs, webhookFailingMs, keyExpiryMs, domainRecords } =
      this.#thresholds;
    return [
      ...(await readRates(db, { fromMs: nowMs - windowMs, recipientsMin }, this.#thresholds)),
      ...(queueAgeMs > 0 ? await readQueueAges(db, nowMs, queueAgeMs) : []),
      ...(webhookFailingMs > 0 ? await readFailingWebhooks(db, nowMs, webhookFailingMs) : []),
      ...(keyExpiryMs > 0 ? await readExpiringKeys(db, nowMs, keyExpiryMs) : []),
      ...(domainRecords > 0 ? await readDegradedDomains(db) : []),
    ];
  }

  /** In the unit of the readings. */
  #thresholdOf(kind: AlarmKind): number {
    switch (kind) {
      case 'bounce_rate':
      case 'stream_bounce_rate':
        return this.#thresholds.bounceRate;
      case 'complaint_rate':
      case 'stream_complaint_rate':
        return this.#thresholds.complaintRate;
      case 'queue_age':
        return this.#thresholds.queueAgeMs / 1000;
      case 'webhook_failing':
        return this.#thresholds.webhookFailingMs / 1000;
      case 'key_expiring':
        return this.#thresholds.keyExpiryMs / 1000;
      case 'domain_degraded':
        return this.#thresholds.domainRecords;
    }
  }

  #event(
    type: 'alarm.raised' | 'alarm.cleared',
    about: AlarmReading | RaisedAlarm,
    sinceMs: number,
    nowMs: number,
    value: number | null,
  ): NewEvent {
    const { workspaceId, mode, kind } = about;
    const threshold = this.#thresholdOf(kind);
    const alarm = {
      kind,
      subject: publicAlarmSubject(about),
      stream: alarmStream(about),
      value,
      threshold,
      raised_at: new Date(sinceMs).toISOString(),
      explanation: alarmExplanation(about),
    };
    return { workspaceId, mode, type, atMs: nowMs, data: { alarm } };
  }
}

type AlarmTopic = Pick<RaisedAlarm, 'kind' | 'subject'>;

/** The subject in its public form. */
export function publicAlarmSubject({ kind, subject }: AlarmTopic): string | null {
  switch (kind) {
    case 'webhook_failing':
      return encodeId('whk', subject);
    case 'key_expiring':
      return encodeId('key', subject);
    default:
      return subject || null;
  }
}

/** The stream that an alarm concerns, if it is about one. */
export function alarmStream({ kind, subject }: AlarmTopic): string | null {
  return kind === 'stream_bounce_rate' || kind === 'stream_complaint_rate' ? subject : null;
}

export function alarmExplanation({ kind, subject }: AlarmTopic): string {
  return ALARM_EXPLANATIONS[kind](subject);
}

const ALARM_EXPLANATIONS: Record<AlarmKind, (subject: string) => string> = {
  bounce_rate: (domain) => `The bounce rate of ${domain} is too high.`,
  complaint_rate: (domain) => `The complaint rate of ${domain} is too high.`,
  stream_bounce_rate: (stream) => `The bounce rate of the stream ${stream} is too high.`,
  stream_complaint_rate: (stream) => `The complaint rate of the stream ${stream} is too high.`,
  queue_age: () => 'Messages have been waiting in the queue for too long.',
  webhook_failing: () => 'A webhook endpoint has been failing for too long.',
  key_expiring: () => 'An API key is about to expire.',
  domain_degraded: (domain) => `DNS records of ${domain} are missing.`,
};

/** The remaining lifetime of a key is the only value for which lower is worse. */
export function shouldRaise({ kind, value }: AlarmReading, threshold: number): boolean {
  if (threshold === 0) return false;
  return kind === 'key_expiring' ? value <= threshold : value >= threshold;
}

export function shouldStayRaised({ kind, value }: AlarmReading, threshold: number): boolean {
  if (threshold === 0) return false;
  return kind === 'key_expiring' ? value <= threshold : value >= threshold * CLEAR_RATIO;
}

function alarmKey({ workspaceId, mode, kind, subject }: Omit<AlarmReading, 'value'>): string {
  return `${workspaceId} ${mode} ${kind} ${subject}`;
}

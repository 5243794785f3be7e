import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import { appendEvents, type NewEvent } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
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
 * The operator's alarms, told as events so that they reach webhooks. Each is raised once per episode
 * and cleared when it is over, in the commit that keeps it: no node tells it a second time. What a
 * rate has to fall to is a fifth below what raises it, so that one that wavers is one episode.
 */
export interface AlarmThresholds {
  /** Shares from 0 to 1 of a sending domain's mail; 0 switches an alarm off. */
  bounceRate: number;
  complaintRate: number;
  windowMs: number;
  /** Fewer recipients than this in the window say nothing. */
  recipientsMin: number;
  queueAgeMs: number;
  webhookFailingMs: number;
  /** What a key has left. */
  keyExpiryMs: number;
  /** Records that a domain has lost. */
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

  /** Looks once; any number of nodes may. */
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
      // Those that no reading keeps up any more are over.
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
      ...(await readRates(db, { fromMs: nowMs - windowMs, recipientsMin })),
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
        return this.#thresholds.bounceRate;
      case 'complaint_rate':
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
      value,
      threshold,
      raised_at: new Date(sinceMs).toISOString(),
      explanation: alarmExplanation(about),
    };
    return { workspaceId, mode, type, atMs: nowMs, data: { alarm } };
  }
}

type AlarmTopic = Pick<RaisedAlarm, 'kind' | 'subject'>;

/** What it is about, as users know it. */
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

export function alarmExplanation({ kind, subject }: AlarmTopic): string {
  return ALARM_EXPLANATIONS[kind](subject);
}

const ALARM_EXPLANATIONS: Record<AlarmKind, (subject: string) => string> = {
  bounce_rate: (domain) => `Too much of what ${domain} sends bounces.`,
  complaint_rate: (domain) => `Too many recipients call mail from ${domain} spam.`,
  queue_age: () => 'Mail has been waiting to leave for too long.',
  webhook_failing: () => 'An endpoint has had nothing but failures for a while.',
  key_expiring: () => 'An API key runs out soon.',
  domain_degraded: (domain) => `Records of ${domain} have vanished from its DNS.`,
};

/** What is left of a key is the one figure that is bad when it is small. */
function shouldRaise({ kind, value }: AlarmReading, threshold: number): boolean {
  if (threshold === 0) return false;
  return kind === 'key_expiring' ? value <= threshold : value >= threshold;
}

function shouldStayRaised({ kind, value }: AlarmReading, threshold: number): boolean {
  if (threshold === 0) return false;
  return kind === 'key_expiring' ? value <= threshold : value >= threshold * CLEAR_RATIO;
}

function alarmKey({ workspaceId, mode, kind, subject }: Omit<AlarmReading, 'value'>): string {
  return `${workspaceId} ${mode} ${kind} ${subject}`;
}

import { integer, percent } from './setting-types.ts';

/** Alarms for members, and the brake that limits a workspace automatically. */
export const alarms = {
  ALARM_BOUNCE_PERCENT: percent({
    description:
      'Bounce rate of a sending domain or a stream (live mail) that raises an alarm. `0` disables it.',
    default: 5,
  }),
  ALARM_COMPLAINT_PERCENT: percent({
    description:
      'Complaint rate of a sending domain or a stream (live mail) that raises an alarm. `0` disables it.',
    default: 0.3,
  }),
  ALARM_WINDOW_MINUTES: integer({
    description: 'Time window over which bounce and complaint rates are computed.',
    default: 60,
    min: 1,
    max: 1440,
  }),
  ALARM_RECIPIENTS_MIN: integer({
    description: 'Minimum recipients in the time window for these alarms.',
    default: 50,
    min: 1,
    max: 1_000_000,
  }),
  ALARM_QUEUE_MINUTES: integer({
    description: 'Age of the oldest queued mail that raises an alarm. `0` disables it.',
    default: 15,
    min: 0,
    max: 10_080,
  }),
  ALARM_WEBHOOK_MINUTES: integer({
    description: 'How long a webhook endpoint must fail to raise an alarm. `0` disables it.',
    default: 30,
    min: 0,
    max: 10_080,
  }),
  ALARM_KEY_DAYS: integer({
    description:
      'Days before the expiry of an API key at which an alarm is raised. `0` disables it.',
    default: 7,
    min: 0,
    max: 365,
  }),
  ALARM_DOMAIN_RECORDS: integer({
    description:
      'Number of missing DNS records of a verified domain that raises an alarm. `0` disables it.',
    default: 1,
    min: 0,
    max: 100,
  }),
  BRAKE_SLOW_BOUNCE_PERCENT: percent({
    description: 'Bounce rate (live mail) at which a workspace is slowed down. `0` disables it.',
    default: 0,
  }),
  BRAKE_PAUSE_BOUNCE_PERCENT: percent({
    description: 'Bounce rate (live mail) at which a workspace is paused. `0` disables it.',
    default: 0,
  }),
  BRAKE_SLOW_COMPLAINT_PERCENT: percent({
    description: 'Complaint rate (live mail) at which a workspace is slowed down. `0` disables it.',
    default: 0,
  }),
  BRAKE_PAUSE_COMPLAINT_PERCENT: percent({
    description: 'Complaint rate (live mail) at which a workspace is paused. `0` disables it.',
    default: 0,
  }),
  BRAKE_WINDOW_HOURS: integer({
    description: 'Time window over which the rates of the brake are computed.',
    default: 24,
    min: 1,
    max: 720,
  }),
  BRAKE_RECIPIENTS_MIN: integer({
    description: 'Minimum recipients in the time window for the brake.',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  BRAKE_SLOW_MESSAGES_PER_HOUR: integer({
    description: 'Live messages per hour of a workspace that is slowed down.',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  PROBATION_DAYS: integer({
    description:
      'Days after its creation during which a workspace can send only a few messages. `0` disables it.',
    default: 0,
    min: 0,
    max: 365,
  }),
  PROBATION_MESSAGES_PER_HOUR: integer({
    description: 'Live messages per hour of a workspace on probation.',
    default: 50,
    min: 1,
    max: 1_000_000,
  }),
};

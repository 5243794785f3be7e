import { invalidFields } from '../../lib/refused-error.ts';
import { MESSAGE_ID_FIELD } from './message-form.ts';

/** Events of our log as Mailgun describes them. */

/** An event of our own API. */
export interface OurEvent {
  id: string;
  type: string;
  mode: 'live' | 'test';
  created_at: string;
  data: EventData;
}

interface EventData {
  message_id: string;
  metadata: Record<string, string>;
  tags: string[];
  recipient?: string;
  attempt?: number;
  from?: string;
  subject?: string;
  recipients?: { email: string; kind: string }[];
  reason?: string;
  bounce?: { class: string; reason: string; explanation: string };
  smtp?: {
    code: number | null;
    enhanced: string | null;
    text: string;
    mx: string | null;
    tls: string | null;
  };
  machine?: boolean;
  url?: string;
  next_attempt_at?: string;
}

/** Mailgun's event types; those without a type of ours never occur. */
const TYPES: Record<string, readonly string[]> = {
  accepted: ['message.accepted'],
  delivered: ['message.delivered'],
  failed: [
    'message.deferred',
    'message.bounced',
    'message.failed',
    'message.expired',
    'message.suppressed',
  ],
  opened: ['message.opened'],
  clicked: ['message.clicked'],
  complained: ['message.complained'],
  rejected: [],
  unsubscribed: ['message.unsubscribed'],
  stored: [],
};

const EVENT_NAMES = new Map(
  Object.entries(TYPES).flatMap(([name, types]) => types.map((type) => [type, name])),
);

/** Our types for a filter such as `delivered OR failed`. */
export function typesOf(
  event: string | undefined,
  severity: 'temporary' | 'permanent' | undefined,
): string[] {
  const names =
    event === undefined ? Object.keys(TYPES) : event.split(/\bor\b/i).map((name) => name.trim());
  const unknown = names.filter((name) => !Object.hasOwn(TYPES, name));
  if (unknown.length > 0) {
    const detail = `Unknown event: ${unknown.join(', ')}. Write ${Object.keys(TYPES).join(', ')}, or several with OR.`;
    throw invalidFields([{ parameter: 'event', code: 'unknown_value', detail }]);
  }
  const types = new Set(names.flatMap((name) => TYPES[name] ?? []));
  if (severity === undefined) return [...types];
  return [...types].filter(
    (type) =>
      EVENT_NAMES.get(type) === 'failed' &&
      (type === 'message.deferred') === (severity === 'temporary'),
  );
}

/** The Message-ID that Mailgun returns for the message of an event, without angle brackets. */
export function messageIdOf({ data }: OurEvent, domain: string): string {
  return data.metadata[MESSAGE_ID_FIELD] ?? `${data.message_id}@${domain}`;
}

/** Mailgun has an event for each recipient, ours of accepting is about all of them. */
export function toItems(event: OurEvent, domain: string): EventItem[] {
  const { data } = event;
  if (data.recipient !== undefined) return [toItem(event, event.id, data.recipient, domain)];
  return (data.recipients ?? []).map(({ email }, index) =>
    toItem(event, index === 0 ? event.id : `${event.id}-${index + 1}`, email, domain),
  );
}

interface EventItem {
  timestamp: number;
  'user-variables': Record<string, string>;
  [field: string]: unknown;
}

function toItem(event: OurEvent, id: string, recipient: string, domain: string): EventItem {
  const { data, type } = event;
  const { [MESSAGE_ID_FIELD]: _id, ...userVariables } = data.metadata;
  const name = EVENT_NAMES.get(type) as string;
  return {
    id,
    event: name,
    timestamp: Date.parse(event.created_at) / 1000,
    'log-level': type === 'message.deferred' ? 'warn' : name === 'failed' ? 'error' : 'info',
    recipient,
    'recipient-domain': recipient.slice(recipient.lastIndexOf('@') + 1),
    tags: data.tags,
    campaigns: [],
    'user-variables': userVariables,
    flags: {
      'is-routed': false,
      'is-authenticated': true,
      'is-system-test': false,
      'is-test-mode': event.mode === 'test',
    },
    envelope: {
      transport: 'smtp',
      targets: recipient,
      ...(data.from ? { sender: data.from } : {}),
    },
    message: {
      headers: {
        'message-id': messageIdOf(event, domain),
        ...(data.from === undefined ? {} : { from: data.from }),
        ...(data.subject === undefined ? {} : { subject: data.subject }),
      },
      attachments: [],
    },
    ...resultOf(event),
  };
}

function resultOf({ type, data }: OurEvent): object {
  switch (type) {
    case 'message.delivered':
      return { 'delivery-status': statusOf(data, 250, 'OK') };
    case 'message.opened':
    case 'message.clicked':
      return {
        'client-info': { bot: data.machine ? 'unknown' : '' },
        ...(data.url === undefined ? {} : { url: data.url }),
      };
    case 'message.deferred':
      return failed('temporary', 'generic', statusOf(data, 498, 'Temporary failure'));
    case 'message.bounced':
      return failed('permanent', 'bounce', statusOf(data, 550, 'Rejected'));
    case 'message.expired':
      return failed('permanent', 'old', statusOf(data, 602, 'Too old'));
    case 'message.failed':
      return failed('permanent', 'generic', statusOf(data, 600, data.reason ?? 'Not sent'));
    case 'message.suppressed': {
      const [reason, code, message] = SUPPRESSED[data.reason ?? ''] ?? SUPPRESSED_OTHERWISE;
      return failed('permanent', reason, statusOf(data, code, message));
    }
    default:
      return {};
  }
}

function failed(severity: string, reason: string, status: object): object {
  return { severity, reason, 'delivery-status': status };
}

/** Mailgun's own codes, which programs use to recognize a suppressed address. */
const SUPPRESSED: Record<string, [reason: string, code: number, message: string]> = {
  hard_bounce: ['suppress-bounce', 605, 'Not delivering to previously bounced address'],
  unsubscribe: ['suppress-unsubscribe', 606, 'Not delivering to unsubscribed address'],
  complaint: [
    'suppress-complaint',
    607,
    'Not delivering to a user who marked your messages as spam',
  ],
};
const SUPPRESSED_OTHERWISE: [string, number, string] = [
  'generic',
  600,
  'Not delivering to suppressed address',
];

function statusOf({ smtp, bounce, attempt }: EventData, code: number, message: string): object {
  return {
    code: smtp?.code ?? code,
    message: smtp?.text || bounce?.explanation || message,
    description: bounce?.explanation ?? '',
    ...(smtp?.enhanced ? { 'enhanced-code': smtp.enhanced } : {}),
    ...(smtp?.mx ? { 'mx-host': smtp.mx } : {}),
    ...(smtp ? { tls: smtp.tls !== null } : {}),
    'attempt-no': attempt ?? 0,
  };
}

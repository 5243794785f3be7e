import {
  AtSign,
  Ban,
  BellOff,
  BellRing,
  FileCode2,
  KeyRound,
  type LucideIcon,
  Mailbox,
  Webhook,
} from 'lucide-react';
import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';
import { exactTime } from '../../components/time.tsx';
import { capitalize, formatBytes, formatNumber } from '../../lib/format.ts';
import { type EventData, labelEvent } from '../messages/event-labels.tsx';

/** An event in one line: what happened, and to what. */
export interface EventSummary {
  icon: LucideIcon;
  tone: Tone;
  title: string;
  subject: string;
  /** The page with details. */
  link?: { to: string; search?: Record<string, string>; label: string };
}

interface Data extends EventData {
  /** Of an inbound message. */
  id?: string;
  from?: { email: string } | null;
  envelope?: { from: string };
  domain?: { id: string; name: string; status: string };
  template?: { kind: string; key: string; version: number } | null;
  suppression?: { email: string | null; domain: string | null; erased?: boolean };
  api_key?: { name: string };
  webhook?: { id: string; url: string };
  alarm?: { subject: string | null; explanation: string };
  brake?: { explanation: string };
  quota?: { name: string; limit: number; resets_at: string | null };
}

export function summarizeEvent(event: Schema<'Event'>): EventSummary {
  const data = event.data as Data;
  switch (event.type.split('.')[0]) {
    case 'message':
      return summarizeMessageEvent(event.type, data);
    case 'inbound_message':
      return {
        icon: Mailbox,
        tone: 'info',
        title: 'Mail received',
        subject: [data.from?.email ?? data.envelope?.from, data.subject]
          .filter(Boolean)
          .join(' · '),
        link: { to: `/inbound/${data.id}`, label: 'View inbound message' },
      };
    case 'domain':
      return summarizeDomainEvent(event.type, data);
    case 'template':
      return {
        icon: FileCode2,
        tone: 'info',
        title: `${capitalize(data.template?.kind ?? 'template')} published`,
        subject: `${data.template?.key}, version ${data.template?.version}`,
        link: {
          to: `/templates/${data.template?.kind}/${data.template?.key}`,
          label: 'View template',
        },
      };
    case 'suppression':
      return summarizeSuppressionEvent(event.type, data);
    case 'api_key':
      return {
        icon: KeyRound,
        tone: event.type === 'api_key.expiring' ? 'warn' : 'plain',
        title: KEY_TITLES[event.type] ?? event.type,
        subject: data.api_key?.name ?? '',
        link: { to: '/api-keys', label: 'View API keys' },
      };
    case 'webhook':
      return {
        icon: Webhook,
        tone: 'bad',
        title: 'Endpoint disabled',
        subject: data.webhook?.url ?? '',
        link: { to: `/webhooks/${data.webhook?.id}`, label: 'View endpoint' },
      };
    case 'workspace':
      return event.type === 'workspace.released'
        ? { icon: BellOff, tone: 'good', title: 'Limit on sending lifted', subject: '' }
        : {
            icon: BellRing,
            tone: 'bad',
            title: event.type === 'workspace.paused' ? 'Sending paused' : 'Sending slowed down',
            subject: data.brake?.explanation ?? '',
          };
    case 'quota':
      return {
        icon: BellRing,
        tone: event.type === 'quota.exceeded' ? 'bad' : 'warn',
        title: event.type === 'quota.exceeded' ? 'Quota exceeded' : 'Quota nearly used up',
        subject: data.quota ? describeQuota(data.quota) : '',
      };
    case 'alarm':
      return event.type === 'alarm.raised'
        ? { icon: BellRing, tone: 'bad', title: 'Alarm', subject: data.alarm?.explanation ?? '' }
        : {
            icon: BellOff,
            tone: 'good',
            title: 'Alarm cleared',
            subject: data.alarm?.explanation ?? '',
          };
    default:
      return { icon: AtSign, tone: 'plain', title: event.type, subject: '' };
  }
}

function summarizeMessageEvent(type: string, data: Data): EventSummary {
  const { icon, tone, title } = labelEvent(type, data);
  const [first, ...others] = data.recipients ?? [];
  const to =
    data.recipient ?? (others.length > 0 ? `${first?.email} +${others.length}` : first?.email);
  return {
    icon,
    tone,
    title,
    subject: [to, data.subject ?? data.bounce?.explanation ?? scheduledFor(data)]
      .filter(Boolean)
      .join(' · '),
    ...(data.message_id
      ? { link: { to: `/messages/${data.message_id}`, label: 'View message' } }
      : {}),
  };
}

/** The scheduled time; the events of a scheduled message have no recipient or subject. */
function scheduledFor({ scheduled_at }: Data): string | undefined {
  return scheduled_at ? `for ${exactTime(scheduled_at).split('\n')[0]}` : undefined;
}

function summarizeDomainEvent(type: string, { domain }: Data): EventSummary {
  const subject = domain?.name ?? '';
  const link = { to: `/domains/${domain?.id}`, label: 'View domain' };
  if (type === 'domain.verified') {
    return { icon: AtSign, tone: 'good', title: 'Domain verified', subject, link };
  }
  if (type === 'domain.claimed') {
    return {
      icon: AtSign,
      tone: 'warn',
      title: 'Domain claimed by another workspace',
      subject,
      link,
    };
  }
  const stopped = domain?.status === 'failed';
  return {
    icon: AtSign,
    tone: stopped ? 'bad' : 'warn',
    title: stopped ? 'Domain can’t send' : 'DNS record missing',
    subject,
    link,
  };
}

function summarizeSuppressionEvent(type: string, { suppression }: Data): EventSummary {
  const subject =
    suppression?.email ??
    (suppression?.domain ? `all addresses at ${suppression.domain}` : 'an erased address');
  return {
    icon: Ban,
    tone: 'plain',
    title: type === 'suppression.created' ? 'Suppressed' : 'Suppression removed',
    subject,
    link: {
      to: '/suppressions',
      search: { q: suppression?.email ?? suppression?.domain ?? '' },
      label: 'View suppression',
    },
  };
}

const KEY_TITLES: Record<string, string> = {
  'api_key.created': 'API key created',
  'api_key.rotated': 'API key rotated',
  'api_key.expiring': 'API key expires soon',
  'api_key.revoked': 'API key revoked',
};

function describeQuota({ name, limit }: NonNullable<Data['quota']>): string {
  if (name === 'content_bytes') return `${formatBytes(limit)} of content`;
  return `${formatNumber(limit)} ${name.replaceAll('_', ' ')}`;
}

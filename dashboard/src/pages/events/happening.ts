import {
  AtSign,
  Ban,
  BellOff,
  BellRing,
  FileCode2,
  KeyRound,
  type LucideIcon,
  Webhook,
} from 'lucide-react';
import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../parts/badge.tsx';
import { exactTime } from '../../parts/time.tsx';
import { type EventData, wordsOf } from '../messages/event-words.tsx';

/** An event in a line: what happened, and to whom or what. */
export interface Happening {
  icon: LucideIcon;
  tone: Tone;
  title: string;
  about: string;
  /** The page that tells more. */
  link?: { to: string; search?: Record<string, string>; label: string };
}

interface Data extends EventData {
  domain?: { id: string; name: string; status: string };
  template?: { kind: string; key: string; version: number } | null;
  suppression?: { email: string | null; domain: string | null; erased?: boolean };
  api_key?: { name: string };
  webhook?: { id: string; url: string };
  alarm?: { subject: string | null; explanation: string };
}

export function happeningOf(event: Schema<'Event'>): Happening {
  const data = event.data as Data;
  switch (event.type.split('.')[0]) {
    case 'message':
      return ofMessage(event.type, data);
    case 'domain':
      return ofDomain(event.type, data);
    case 'template':
      return {
        icon: FileCode2,
        tone: 'info',
        title: `${capital(data.template?.kind ?? 'template')} published`,
        about: `${data.template?.key}, version ${data.template?.version}`,
        link: {
          to: `/templates/${data.template?.kind}/${data.template?.key}`,
          label: 'See the template',
        },
      };
    case 'suppression':
      return ofSuppression(event.type, data);
    case 'api_key':
      return {
        icon: KeyRound,
        tone: event.type === 'api_key.expiring' ? 'warn' : 'plain',
        title: KEY_TITLES[event.type] ?? event.type,
        about: data.api_key?.name ?? '',
        link: { to: '/api-keys', label: 'See the keys' },
      };
    case 'webhook':
      return {
        icon: Webhook,
        tone: 'bad',
        title: 'Endpoint switched off',
        about: data.webhook?.url ?? '',
        link: { to: `/webhooks/${data.webhook?.id}`, label: 'See the endpoint' },
      };
    case 'alarm':
      return event.type === 'alarm.raised'
        ? { icon: BellRing, tone: 'bad', title: 'Alarm', about: data.alarm?.explanation ?? '' }
        : {
            icon: BellOff,
            tone: 'good',
            title: 'Alarm over',
            about: data.alarm?.explanation ?? '',
          };
    default:
      return { icon: AtSign, tone: 'plain', title: event.type, about: '' };
  }
}

function ofMessage(type: string, data: Data): Happening {
  const { icon, tone, title } = wordsOf(type, data);
  const [first, ...others] = data.recipients ?? [];
  const to =
    data.recipient ?? (others.length > 0 ? `${first?.email} +${others.length}` : first?.email);
  return {
    icon,
    tone,
    title,
    about: [to, data.subject ?? data.bounce?.explanation ?? plannedFor(data)]
      .filter(Boolean)
      .join(' · '),
    ...(data.message_id
      ? { link: { to: `/messages/${data.message_id}`, label: 'See the message' } }
      : {}),
  };
}

/** A message that waits for its time: its event names neither recipient nor subject. */
function plannedFor({ scheduled_at }: Data): string | undefined {
  return scheduled_at ? `for ${exactTime(scheduled_at).split('\n')[0]}` : undefined;
}

function ofDomain(type: string, { domain }: Data): Happening {
  const about = domain?.name ?? '';
  const link = { to: `/domains/${domain?.id}`, label: 'See the domain' };
  if (type === 'domain.verified') {
    return { icon: AtSign, tone: 'good', title: 'Domain verified', about, link };
  }
  if (type === 'domain.claimed') {
    return { icon: AtSign, tone: 'warn', title: 'Domain claimed elsewhere', about, link };
  }
  const stopped = domain?.status === 'failed';
  return {
    icon: AtSign,
    tone: stopped ? 'bad' : 'warn',
    title: stopped ? 'Domain stopped sending' : 'Domain record vanished',
    about,
    link,
  };
}

function ofSuppression(type: string, { suppression }: Data): Happening {
  const about =
    suppression?.email ??
    (suppression?.domain ? `everybody at ${suppression.domain}` : 'an erased address');
  return {
    icon: Ban,
    tone: 'plain',
    title: type === 'suppression.created' ? 'Suppressed' : 'Suppression removed',
    about,
    link: {
      to: '/suppressions',
      search: { q: suppression?.email ?? suppression?.domain ?? '' },
      label: 'See the suppression',
    },
  };
}

const KEY_TITLES: Record<string, string> = {
  'api_key.created': 'Key made',
  'api_key.rotated': 'Key rotated',
  'api_key.expiring': 'Key ends soon',
  'api_key.revoked': 'Key revoked',
};

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

import {
  Ban,
  CalendarClock,
  CircleCheck,
  CircleX,
  Clock,
  Eye,
  Flag,
  Hourglass,
  Inbox,
  LogOut,
  type LucideIcon,
  MousePointerClick,
  TriangleAlert,
} from 'lucide-react';
import type { ReactNode } from 'react';
import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';
import { Time } from '../../components/time.tsx';
import { describeFailure, describeSuppression, isSimulated } from './failure-reasons.ts';

/** The event data that the UI uses; each event type has some of these fields. */
export interface EventData {
  message_id?: string;
  recipient?: string;
  recipients?: { email: string }[];
  attempt?: number;
  subject?: string;
  scheduled_at?: string | null;
  next_attempt_at?: string;
  reason?: string;
  machine?: boolean;
  url?: string;
  bounce?: Schema<'Bounce'>;
  smtp?: Schema<'SmtpReply'>;
  /** The bounce message, if the bounce was reported after delivery. */
  report?: { reported_by: string | null; remote_mta?: string | null };
}

/** "TLSv1.3" as "TLS 1.3". */
export function tlsName(version: string): string {
  return version.replace(/^TLSv/, 'TLS ');
}

export interface EventLabel {
  icon: LucideIcon;
  tone: Tone;
  title: string;
  detail?: ReactNode;
  /** Do not show the SMTP reply, which belongs to the delivery. */
  hideReply?: boolean;
}

/** The title and explanation of a message event. */
export function labelEvent(type: string, data: EventData): EventLabel {
  return LABELS[type]?.(data) ?? { icon: Inbox, tone: 'plain', title: type };
}

const LABELS: Record<string, (data: EventData) => EventLabel> = {
  'message.accepted': () => ({
    icon: Inbox,
    tone: 'info',
    title: 'Accepted',
    detail: 'Queued for delivery.',
  }),
  'message.scheduled': (data) => ({
    icon: CalendarClock,
    tone: 'plum',
    title: 'Scheduled',
    detail: (
      <>
        Will be sent <Time at={data.scheduled_at} />.
      </>
    ),
  }),
  'message.rescheduled': (data) => ({
    icon: CalendarClock,
    tone: 'plum',
    title: 'Rescheduled',
    detail: (
      <>
        Will now be sent <Time at={data.scheduled_at} />.
      </>
    ),
  }),
  'message.cancelled': () => ({
    icon: CircleX,
    tone: 'plain',
    title: 'Cancelled',
    detail: 'Cancelled before delivery.',
  }),
  'message.suppressed': (data) => ({
    icon: Ban,
    tone: 'plain',
    title: 'Not sent: suppressed',
    detail: describeSuppression(data.reason ?? null),
  }),
  'message.deferred': (data) => ({
    icon: Clock,
    tone: 'warn',
    title: 'Deferred, will retry',
    detail: data.bounce?.explanation ?? 'The receiving server asked us to retry later.',
  }),
  'message.delivered': (data) => ({
    icon: CircleCheck,
    tone: 'good',
    title: 'Delivered',
    detail: data.smtp?.mx
      ? `Delivered to ${data.smtp.mx}${data.smtp.tls ? ` over ${tlsName(data.smtp.tls)}` : ''}.`
      : 'Delivered to the test inbox.',
  }),
  'message.bounced': (data) => ({
    icon: CircleX,
    tone: 'bad',
    title: data.report ? 'Bounced after delivery' : 'Bounced',
    detail: [describeReporter(data), data.bounce?.explanation].filter(Boolean).join(' '),
  }),
  'message.failed': (data) => ({
    icon: TriangleAlert,
    tone: 'bad',
    title: 'Failed',
    detail: describeFailure(data.reason ?? null),
  }),
  'message.expired': () => ({
    icon: Hourglass,
    tone: 'bad',
    title: 'Expired',
    detail: 'Not accepted by a receiving server in time.',
  }),
  'message.complained': (data) => ({
    icon: Flag,
    tone: 'bad',
    title: 'Spam complaint',
    detail: isSimulated(data.recipient)
      ? 'The recipient marked it as spam. A real address would now be suppressed.'
      : 'The recipient marked it as spam. The address is now suppressed.',
    // The SMTP reply belongs to the delivery and is shown there.
    hideReply: true,
  }),
  'message.unsubscribed': () => ({
    icon: LogOut,
    tone: 'warn',
    title: 'Unsubscribed',
    detail: 'The recipient left this stream. The address is suppressed in it.',
  }),
  'message.opened': (data) => ({
    icon: Eye,
    tone: 'info',
    title: 'Opened',
    detail: data.machine ? 'Probably an automatic image preload.' : undefined,
  }),
  'message.clicked': (data) => ({
    icon: MousePointerClick,
    tone: 'info',
    title: 'Clicked',
    detail: [data.url, data.machine && 'Probably a link scanner.'].filter(Boolean).join(' · '),
  }),
};

/** Who reported a bounce after delivery. */
function describeReporter({ report, smtp }: EventData): string | undefined {
  if (!report) return undefined;
  const who = report.reported_by ?? smtp?.mx ?? 'the receiving server';
  const rejectedBy = report.remote_mta && report.remote_mta !== who ? report.remote_mta : undefined;
  return `Accepted at first, then returned by ${who}${rejectedBy ? ` because ${rejectedBy} rejected it` : ''}.`;
}

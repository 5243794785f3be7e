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
  type LucideIcon,
  MousePointerClick,
  TriangleAlert,
} from 'lucide-react';
import type { ReactNode } from 'react';
import type { Schema } from '../../api/client.ts';
import type { Tone } from '../../components/badge.tsx';
import { Time } from '../../components/time.tsx';
import { isSimulated, whyFailed, whySuppressed } from './failure-reasons.ts';

/** The parts of an event's data that the screens read; each type has some of them. */
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
  smtp?: Schema<'SmtpAnswer'>;
  /** The mail that told it, where it was not said on the wire. */
  report?: { reported_by: string | null; remote_mta?: string | null };
}

export interface EventLabel {
  icon: LucideIcon;
  tone: Tone;
  title: string;
  detail?: ReactNode;
  /** The receiver's answer says nothing about this. */
  hideReply?: boolean;
}

/** What happened to a message, in plain words. */
export function labelEvent(type: string, data: EventData): EventLabel {
  const mx = data.smtp?.mx ?? 'The receiver';
  switch (type) {
    case 'message.accepted':
      return {
        icon: Inbox,
        tone: 'info',
        title: 'Accepted',
        detail: 'Stored safely and queued for delivery.',
      };
    case 'message.scheduled':
      return {
        icon: CalendarClock,
        tone: 'plum',
        title: 'Scheduled',
        detail: (
          <>
            It waits for its time, <Time at={data.scheduled_at} />.
          </>
        ),
      };
    case 'message.rescheduled':
      return {
        icon: CalendarClock,
        tone: 'plum',
        title: 'Rescheduled',
        detail: (
          <>
            The new time is <Time at={data.scheduled_at} />.
          </>
        ),
      };
    case 'message.cancelled':
      return { icon: CircleX, tone: 'plain', title: 'Cancelled', detail: 'It never left.' };
    case 'message.suppressed':
      return {
        icon: Ban,
        tone: 'plain',
        title: 'Not sent: suppressed',
        detail: whySuppressed(data.reason ?? null),
      };
    case 'message.deferred':
      return {
        icon: Clock,
        tone: 'warn',
        title: 'Not taken yet',
        detail: data.bounce?.explanation ?? 'The receiver asks to come again later.',
      };
    case 'message.delivered':
      return {
        icon: CircleCheck,
        tone: 'good',
        title: 'Delivered',
        detail: data.smtp?.mx
          ? `${mx} took it${data.smtp.tls ? `, encrypted with ${data.smtp.tls}` : ''}.`
          : 'It arrived in the test inbox.',
      };
    case 'message.bounced':
      return {
        icon: CircleX,
        tone: 'bad',
        title: data.report ? 'Bounced later' : 'Bounced',
        detail: [describeReporter(data), data.bounce?.explanation].filter(Boolean).join(' '),
      };
    case 'message.failed':
      return {
        icon: TriangleAlert,
        tone: 'bad',
        title: 'Failed',
        detail: whyFailed(data.reason ?? null),
      };
    case 'message.expired':
      return {
        icon: Hourglass,
        tone: 'bad',
        title: 'Expired',
        detail: 'Its time ran out before a receiver took it.',
      };
    case 'message.complained':
      return {
        icon: Flag,
        tone: 'bad',
        title: 'Complaint',
        detail: isSimulated(data.recipient)
          ? 'The recipient called it spam. A real address would be suppressed from now on.'
          : 'The recipient called it spam. The address is suppressed from now on.',
        // What the receiver had said is the answer to the delivery, and stands there.
        hideReply: true,
      };
    case 'message.opened':
      return {
        icon: Eye,
        tone: 'info',
        title: 'Opened',
        detail: data.machine ? 'Probably by a machine that loads pictures ahead.' : undefined,
      };
    case 'message.clicked':
      return {
        icon: MousePointerClick,
        tone: 'info',
        title: 'Clicked',
        detail: [data.url, data.machine && 'Probably a scanner.'].filter(Boolean).join(' · '),
      };
    default:
      return { icon: Inbox, tone: 'plain', title: type };
  }
}

/** Who reported a bounce after the mail had been taken. */
function describeReporter({ report, smtp }: EventData): string | undefined {
  if (!report) return undefined;
  const who = report.reported_by ?? smtp?.mx ?? 'the receiver';
  const refused = report.remote_mta && report.remote_mta !== who ? report.remote_mta : undefined;
  return `It had been taken, and ${who} sent it back${refused ? ` because ${refused} refused it` : ''}.`;
}

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, CircleCheck, CircleX, Clock, Flag, MailX, Send } from 'lucide-react';
import type { ReactNode } from 'react';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { ExactTime, Time } from '../../components/time.tsx';
import { isSimulated, whyFailed, whySuppressed } from './failure-reasons.ts';
import { formatWholeDuration, type RecipientGroup, groupRecipients } from './recipient-groups.ts';

/**
 * “Where did it go?”, answered before anything else: what became of the message in plain words, what
 * the receiver said, what happens next by itself, and what to do now. Recipients with the same fate
 * share an answer.
 */
export function DeliverySummary({ message }: { message: Schema<'Message'> }) {
  return groupRecipients(message).map((fate) => (
    <GroupSummary key={fate.recipients[0].email} message={message} group={fate} />
  ));
}

interface GroupProps {
  message: Schema<'Message'>;
  group: RecipientGroup;
}

function GroupSummary({ message, group: fate }: GroupProps) {
  const [recipient] = fate.recipients;
  const { bounce, reason } = recipient;
  switch (fate.outcome) {
    case 'delivered':
      return message.mode === 'test' ? (
        <DeliveredToTestInbox message={message} group={fate} />
      ) : (
        <Delivered fate={fate} />
      );
    case 'complained':
      return <Complained fate={fate} />;
    case 'queued':
      return (
        <Alert tone="info" title={`It is on its way to ${recipientsText(fate)}`} icon={iconOf(Send)}>
          <p>It is stored safely and leaves in its turn. This page follows it by itself.</p>
        </Alert>
      );
    case 'scheduled':
      return (
        <Alert
          tone="info"
          title={
            <>
              It waits until <ExactTime at={recipient.next_attempt_at ?? message.scheduled_at} />
            </>
          }
          icon={iconOf(CalendarClock)}
        >
          <p>Then it leaves by itself. Until then it can be sent now, moved or cancelled.</p>
        </Alert>
      );
    case 'cancelled':
      return (
        <Alert tone="info" title="It was cancelled" icon={iconOf(CircleX)}>
          <p>{recipientsText(fate)} never got it, and never will.</p>
        </Alert>
      );
    case 'suppressed':
      return <Suppressed fate={fate} />;
    case 'expired':
      return <Expired message={message} group={fate} />;
    case 'failed':
      return <Alert tone="bad" title={whyFailed(reason)} />;
    case 'deferred':
      return <Deferred message={message} group={fate} />;
    case 'bounced':
      return (
        <Alert tone="bad" title={bounce?.explanation ?? 'It came back.'} icon={iconOf(MailX)}>
          <ServerReply fate={fate} />
          <BounceAdvice fate={fate} />
        </Alert>
      );
  }
}

function iconOf(Icon: typeof Send): ReactNode {
  return <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />;
}

function recipientsText({ recipients: [first, ...others] }: RecipientGroup): string {
  return others.length === 0 ? first.email : `${first.email} and ${others.length} more`;
}

function DeliveredToTestInbox({ message, group: fate }: GroupProps) {
  return (
    <Alert
      tone="good"
      title={`It arrived in the test inbox, for ${recipientsText(fate)}`}
      icon={iconOf(CircleCheck)}
    >
      <p>
        Nobody outside was written to.{' '}
        <Link to="/test-inbox" search={{ id: message.id }} className="font-medium underline">
          Open it there
        </Link>
      </p>
    </Alert>
  );
}

function Delivered({ fate }: { fate: RecipientGroup }) {
  const [{ smtp, finished_at }, ...others] = fate.recipients;
  if (others.length > 0) {
    return (
      <Alert
        tone="good"
        title={`Mail servers have taken it for ${recipientsText(fate)}`}
        icon={iconOf(CircleCheck)}
      >
        <p>What each of them said stands in the timeline.</p>
      </Alert>
    );
  }
  return (
    <Alert
      tone="good"
      title={
        <>
          {smtp?.mx ?? 'A mail server'} has taken it for {recipientsText(fate)}, at{' '}
          <ExactTime at={finished_at} />
        </>
      }
      icon={iconOf(CircleCheck)}
    >
      <AcceptedReply smtp={smtp} />
      {fate.openedAt ? (
        <p>
          It was opened <Time at={fate.openedAt} />.
        </p>
      ) : (
        <p>
          Not in the inbox? Then it lies in the spam folder, or a rule of the receiver has put it
          away. Whoever runs that server finds it by these words.
        </p>
      )}
    </Alert>
  );
}

function AcceptedReply({ smtp }: { smtp: Schema<'SmtpAnswer'> | null }) {
  if (!smtp) return null;
  return (
    <p>
      It said{smtp.ip && `, from ${smtp.ip}`}
      {smtp.tls ? ` over ${smtp.tls}` : ' without encryption'}: <SmtpReply smtp={smtp} />
    </p>
  );
}

function Complained({ fate }: { fate: RecipientGroup }) {
  const [{ email }] = fate.recipients;
  return (
    <Alert tone="bad" title={`${email} has it, and called it spam`} icon={iconOf(Flag)}>
      {isSimulated(email) ? (
        <p>A real address would be suppressed from now on.</p>
      ) : (
        <p>
          Do not write to them again: receivers count complaints against you. The address is on the{' '}
          <SuppressionLink email={email} /> from now on.
        </p>
      )}
    </Alert>
  );
}

function Suppressed({ fate }: { fate: RecipientGroup }) {
  const [{ email, reason }] = fate.recipients;
  return (
    <Alert tone="warn" title={`${recipientsText(fate)} was not written to: ${whySuppressed(reason)}`}>
      <p>
        Look at the evidence on the <SuppressionLink email={email} />, and remove the address there
        if it is right again. Then send a new message.
      </p>
    </Alert>
  );
}

function Deferred({ message, group: fate }: GroupProps) {
  const [{ bounce, next_attempt_at, attempts }] = fate.recipients;
  const endsAfterMs = useRetryWindow(message);
  return (
    <Alert
      tone="warn"
      title={bounce?.explanation ?? 'The receiver asks to come again later.'}
      icon={iconOf(Clock)}
    >
      <ServerReply fate={fate} />
      <p>
        Next try <Time at={next_attempt_at} />, at <ExactTime at={next_attempt_at} />, by itself. It
        will be the {ordinal(attempts + 1)}.
        {endsAfterMs !== undefined &&
          ` If nobody takes it, it ends as expired after ${formatWholeDuration(endsAfterMs)}.`}
      </p>
    </Alert>
  );
}

function Expired({ message, group: fate }: GroupProps) {
  const [{ attempts }] = fate.recipients;
  const lived = useRetryWindow(message);
  return (
    <Alert tone="bad" title={`Nobody took it in time for ${recipientsText(fate)}`} icon={iconOf(MailX)}>
      <p>
        {attempts === 0
          ? 'It was not tried'
          : attempts === 1
            ? 'It was tried once'
            : `It was tried ${attempts} times`}
        {lived !== undefined && `, for ${formatWholeDuration(lived)}`}
        {message.ttl_seconds !== null && ', the time to live that it was sent with'}.
      </p>
      <ServerReply fate={fate} />
      <p>“Try again now” gives it that time anew, if it is still worth reading.</p>
    </Alert>
  );
}

/** How long it is tried: what the send asked for, or as the operator has set. */
function useRetryWindow({ ttl_seconds }: Schema<'Message'>): number | undefined {
  const { api, key } = useApi();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => unwrap(api.GET('/api/v1/limits')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const window = limits.data?.retry_window_seconds;
  const seconds =
    ttl_seconds === null ? window : Math.min(ttl_seconds, window ?? Number.POSITIVE_INFINITY);
  return seconds === undefined ? undefined : seconds * 1000;
}

function ServerReply({ fate }: { fate: RecipientGroup }) {
  const [{ smtp }] = fate.recipients;
  if (!smtp?.text) return <p>{recipientsText(fate)}</p>;
  return (
    <p>
      {smtp.mx ?? 'The receiver'} said about {recipientsText(fate)}: <SmtpReply smtp={smtp} />
    </p>
  );
}

function SmtpReply({ smtp: { code, enhanced, text } }: { smtp: Schema<'SmtpAnswer'> }) {
  return (
    <q className="font-mono text-xs break-words">
      {[code, enhanced, text].filter(Boolean).join(' ')}
    </q>
  );
}

function BounceAdvice({ fate }: { fate: RecipientGroup }) {
  const [{ bounce, email }] = fate.recipients;
  if (bounce?.reason === 'authentication_failed') {
    return (
      <p>
        <Link to="/domains" className="font-medium underline">
          See what is wrong with the domain
        </Link>
      </p>
    );
  }
  if (bounce?.class !== 'hard') return null;
  if (isSimulated(email)) {
    return (
      <p>
        A hard bounce would put a real address on the suppression list. Addresses of the simulator
        are never put there, so this one bounces as often as you like.
      </p>
    );
  }
  return (
    <p>
      A hard bounce puts the address on the <SuppressionLink email={email} />, for the sake of your
      reputation. Remove it there once the address is right.
    </p>
  );
}

function SuppressionLink({ email }: { email: string }) {
  return (
    <Link to="/suppressions" search={{ q: email }} className="font-medium underline">
      suppression list
    </Link>
  );
}

const ENDINGS: Record<string, string> = { one: 'st', two: 'nd', few: 'rd' };
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });

function ordinal(count: number): string {
  return `${count}${ENDINGS[ordinals.select(count)] ?? 'th'}`;
}

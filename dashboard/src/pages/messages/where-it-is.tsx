import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, CircleCheck, CircleX, Clock, Flag, MailX, Send } from 'lucide-react';
import type { ReactNode } from 'react';
import { ask, type Schema } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { Note } from '../../parts/problem-note.tsx';
import { ExactTime, Time } from '../../parts/time.tsx';
import { isSimulated, whyFailed, whySuppressed } from './advice.ts';
import { durationInWords, type Fate, fatesOf } from './fates.ts';

/**
 * “Where did it go?”, answered before anything else: what became of the message in plain words, what
 * the receiver said, what happens next by itself, and what to do now. Recipients with the same fate
 * share an answer.
 */
export function WhereItIs({ message }: { message: Schema<'Message'> }) {
  return fatesOf(message).map((fate) => (
    <Answer key={fate.recipients[0].email} message={message} fate={fate} />
  ));
}

interface AnswerProps {
  message: Schema<'Message'>;
  fate: Fate;
}

function Answer({ message, fate }: AnswerProps) {
  const [recipient] = fate.recipients;
  const { bounce, reason } = recipient;
  switch (fate.kind) {
    case 'delivered':
      return message.mode === 'test' ? (
        <InTestInbox message={message} fate={fate} />
      ) : (
        <Delivered fate={fate} />
      );
    case 'complained':
      return <Complained fate={fate} />;
    case 'queued':
      return (
        <Note tone="info" title={`It is on its way to ${whoOf(fate)}`} icon={iconOf(Send)}>
          <p>It is stored safely and leaves in its turn. This page follows it by itself.</p>
        </Note>
      );
    case 'scheduled':
      return (
        <Note
          tone="info"
          title={
            <>
              It waits until <ExactTime at={recipient.next_attempt_at ?? message.scheduled_at} />
            </>
          }
          icon={iconOf(CalendarClock)}
        >
          <p>Then it leaves by itself. Until then it can be sent now, moved or cancelled.</p>
        </Note>
      );
    case 'cancelled':
      return (
        <Note tone="info" title="It was cancelled" icon={iconOf(CircleX)}>
          <p>{whoOf(fate)} never got it, and never will.</p>
        </Note>
      );
    case 'suppressed':
      return <Suppressed fate={fate} />;
    case 'expired':
      return <Expired message={message} fate={fate} />;
    case 'failed':
      return <Note tone="bad" title={whyFailed(reason)} />;
    case 'deferred':
      return <Deferred message={message} fate={fate} />;
    case 'bounced':
      return (
        <Note tone="bad" title={bounce?.explanation ?? 'It came back.'} icon={iconOf(MailX)}>
          <TheirWords fate={fate} />
          <AfterBounce fate={fate} />
        </Note>
      );
  }
}

function iconOf(Icon: typeof Send): ReactNode {
  return <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />;
}

function whoOf({ recipients: [first, ...others] }: Fate): string {
  return others.length === 0 ? first.email : `${first.email} and ${others.length} more`;
}

function InTestInbox({ message, fate }: AnswerProps) {
  return (
    <Note
      tone="good"
      title={`It arrived in the test inbox, for ${whoOf(fate)}`}
      icon={iconOf(CircleCheck)}
    >
      <p>
        Nobody outside was written to.{' '}
        <Link to="/test-inbox" search={{ id: message.id }} className="font-medium underline">
          Open it there
        </Link>
      </p>
    </Note>
  );
}

function Delivered({ fate }: { fate: Fate }) {
  const [{ smtp, finished_at }, ...others] = fate.recipients;
  if (others.length > 0) {
    return (
      <Note
        tone="good"
        title={`Mail servers have taken it for ${whoOf(fate)}`}
        icon={iconOf(CircleCheck)}
      >
        <p>What each of them said stands in the timeline.</p>
      </Note>
    );
  }
  return (
    <Note
      tone="good"
      title={
        <>
          {smtp?.mx ?? 'A mail server'} has taken it for {whoOf(fate)}, at{' '}
          <ExactTime at={finished_at} />
        </>
      }
      icon={iconOf(CircleCheck)}
    >
      <Receipt smtp={smtp} />
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
    </Note>
  );
}

function Receipt({ smtp }: { smtp: Schema<'SmtpAnswer'> | null }) {
  if (!smtp) return null;
  return (
    <p>
      It said{smtp.ip && `, from ${smtp.ip}`}
      {smtp.tls ? ` over ${smtp.tls}` : ' without encryption'}: <Words smtp={smtp} />
    </p>
  );
}

function Complained({ fate }: { fate: Fate }) {
  const [{ email }] = fate.recipients;
  return (
    <Note tone="bad" title={`${email} has it, and called it spam`} icon={iconOf(Flag)}>
      {isSimulated(email) ? (
        <p>A real address would be suppressed from now on.</p>
      ) : (
        <p>
          Do not write to them again: receivers count complaints against you. The address is on the{' '}
          <SuppressionLink email={email} /> from now on.
        </p>
      )}
    </Note>
  );
}

function Suppressed({ fate }: { fate: Fate }) {
  const [{ email, reason }] = fate.recipients;
  return (
    <Note tone="warn" title={`${whoOf(fate)} was not written to: ${whySuppressed(reason)}`}>
      <p>
        Look at the evidence on the <SuppressionLink email={email} />, and remove the address there
        if it is right again. Then send a new message.
      </p>
    </Note>
  );
}

function Deferred({ message, fate }: AnswerProps) {
  const [{ bounce, next_attempt_at, attempts }] = fate.recipients;
  const endsAfterMs = useTimeToTry(message);
  return (
    <Note
      tone="warn"
      title={bounce?.explanation ?? 'The receiver asks to come again later.'}
      icon={iconOf(Clock)}
    >
      <TheirWords fate={fate} />
      <p>
        Next try <Time at={next_attempt_at} />, at <ExactTime at={next_attempt_at} />, by itself. It
        will be the {ordinal(attempts + 1)}.
        {endsAfterMs !== undefined &&
          ` If nobody takes it, it ends as expired after ${durationInWords(endsAfterMs)}.`}
      </p>
    </Note>
  );
}

function Expired({ message, fate }: AnswerProps) {
  const [{ attempts }] = fate.recipients;
  const lived = useTimeToTry(message);
  return (
    <Note tone="bad" title={`Nobody took it in time for ${whoOf(fate)}`} icon={iconOf(MailX)}>
      <p>
        {attempts === 0
          ? 'It was not tried'
          : attempts === 1
            ? 'It was tried once'
            : `It was tried ${attempts} times`}
        {lived !== undefined && `, for ${durationInWords(lived)}`}
        {message.ttl_seconds !== null && ', the time to live that it was sent with'}.
      </p>
      <TheirWords fate={fate} />
      <p>“Try again now” gives it that time anew, if it is still worth reading.</p>
    </Note>
  );
}

/** How long it is tried: what the send asked for, or as the operator has set. */
function useTimeToTry({ ttl_seconds }: Schema<'Message'>): number | undefined {
  const { api, key } = useHere();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => ask(api.GET('/api/v1/limits')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const window = limits.data?.retry_window_seconds;
  const seconds =
    ttl_seconds === null ? window : Math.min(ttl_seconds, window ?? Number.POSITIVE_INFINITY);
  return seconds === undefined ? undefined : seconds * 1000;
}

function TheirWords({ fate }: { fate: Fate }) {
  const [{ smtp }] = fate.recipients;
  if (!smtp?.text) return <p>{whoOf(fate)}</p>;
  return (
    <p>
      {smtp.mx ?? 'The receiver'} said about {whoOf(fate)}: <Words smtp={smtp} />
    </p>
  );
}

function Words({ smtp: { code, enhanced, text } }: { smtp: Schema<'SmtpAnswer'> }) {
  return (
    <q className="font-mono text-xs break-words">
      {[code, enhanced, text].filter(Boolean).join(' ')}
    </q>
  );
}

function AfterBounce({ fate }: { fate: Fate }) {
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

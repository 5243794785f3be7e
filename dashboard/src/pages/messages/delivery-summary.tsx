import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, CircleCheck, CircleX, Clock, Flag, MailX, Send } from 'lucide-react';
import type { ReactNode } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { ExactTime, Time } from '../../components/time.tsx';
import { formatCount, formatWholeDuration } from '../../lib/format.ts';
import { tlsName } from './event-labels.tsx';
import { describeFailure, describeSuppression, isSimulated } from './failure-reasons.ts';
import { groupRecipients, type RecipientGroup } from './recipient-groups.ts';

/**
 * Answers “Where is my email?” at the top of the page: the outcome, the receiving server's reply,
 * what happens next, and what to do. Recipients with the same outcome share one summary.
 */
export function DeliverySummary({ message }: { message: Schema<'Message'> }) {
  return groupRecipients(message).map((group) => (
    <GroupSummary key={group.recipients[0].email} message={message} group={group} />
  ));
}

interface GroupProps {
  message: Schema<'Message'>;
  group: RecipientGroup;
}

function GroupSummary({ message, group }: GroupProps) {
  const [recipient] = group.recipients;
  const { bounce, explanation, reason } = recipient;
  switch (group.outcome) {
    case 'delivered':
      return message.mode === 'test' ? (
        <DeliveredToTestInbox message={message} group={group} />
      ) : (
        <Delivered group={group} />
      );
    case 'complained':
      return <Complained group={group} />;
    case 'queued':
      return (
        <Alert tone="info" title={`Sending to ${recipientsText(group)}`} icon={iconOf(Send)}>
          <p>The message is queued. This page updates automatically.</p>
        </Alert>
      );
    case 'scheduled':
      return (
        <Alert
          tone="info"
          title={
            <>
              Scheduled for <ExactTime at={recipient.next_attempt_at ?? message.scheduled_at} />
            </>
          }
          icon={iconOf(CalendarClock)}
        >
          <p>Until then, you can send it now, reschedule it or cancel it.</p>
        </Alert>
      );
    case 'cancelled':
      return (
        <Alert tone="info" title="Cancelled" icon={iconOf(CircleX)}>
          <p>It was not sent to {recipientsText(group)}.</p>
        </Alert>
      );
    case 'suppressed':
      return <Suppressed group={group} />;
    case 'expired':
      return <Expired message={message} group={group} />;
    case 'failed':
      return <Alert tone="bad" title={explanation ?? describeFailure(reason)} />;
    case 'deferred':
      return <Deferred message={message} group={group} />;
    case 'bounced':
      return (
        <Alert
          tone="bad"
          title={bounce?.explanation ?? 'The message bounced.'}
          icon={iconOf(MailX)}
        >
          <ServerReply group={group} />
          <BounceAdvice message={message} group={group} />
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

function DeliveredToTestInbox({ message, group }: GroupProps) {
  return (
    <Alert
      tone="good"
      title={`Delivered to the test inbox for ${recipientsText(group)}`}
      icon={iconOf(CircleCheck)}
    >
      <p>
        No real email was sent.{' '}
        <Link to="/test-inbox" search={{ id: message.id }} className="font-medium underline">
          Open in test inbox
        </Link>
      </p>
    </Alert>
  );
}

function Delivered({ group }: { group: RecipientGroup }) {
  const [{ smtp, finished_at }, ...others] = group.recipients;
  if (others.length > 0) {
    return (
      <Alert tone="good" title={`Delivered to ${recipientsText(group)}`} icon={iconOf(CircleCheck)}>
        <p>See the timeline for the reply of each server.</p>
      </Alert>
    );
  }
  return (
    <Alert
      tone="good"
      title={
        <>
          Delivered to {recipientsText(group)} at <ExactTime at={finished_at} />
        </>
      }
      icon={iconOf(CircleCheck)}
    >
      <AcceptedReply smtp={smtp} />
      {group.openedAt ? (
        <p>
          Opened <Time at={group.openedAt} />.
        </p>
      ) : (
        <p>
          Not in the inbox? Check the spam folder. The receiving server’s administrator can find the
          message using this reply.
        </p>
      )}
    </Alert>
  );
}

function AcceptedReply({ smtp }: { smtp: Schema<'SmtpReply'> | null }) {
  if (!smtp) return null;
  return (
    <p>
      {smtp.mx ?? 'The receiving server'}
      {smtp.ip && ` (${smtp.ip})`} replied {smtp.tls ? `over ${tlsName(smtp.tls)}` : 'without TLS'}:{' '}
      <SmtpReply smtp={smtp} />
    </p>
  );
}

function Complained({ group }: { group: RecipientGroup }) {
  const [{ email }] = group.recipients;
  return (
    <Alert tone="bad" title={`${email} received it and marked it as spam`} icon={iconOf(Flag)}>
      {isSimulated(email) ? (
        <p>A real address would now be suppressed.</p>
      ) : (
        <p>
          The address is now on the <SuppressionLink email={email} />. Complaints hurt your sender
          reputation.
        </p>
      )}
    </Alert>
  );
}

function Suppressed({ group }: { group: RecipientGroup }) {
  const [{ email, reason }] = group.recipients;
  return (
    <Alert
      tone="warn"
      title={`Not sent to ${recipientsText(group)}: ${describeSuppression(reason)}`}
    >
      <p>
        If the address is valid again, remove it from the <SuppressionLink email={email} /> and send
        a new message.
      </p>
    </Alert>
  );
}

function Deferred({ message, group }: GroupProps) {
  const [{ bounce, next_attempt_at, attempts }] = group.recipients;
  const windowMs = useRetryWindow(message);
  return (
    <Alert
      tone="warn"
      title={bounce?.explanation ?? 'The receiving server asked us to retry later.'}
      icon={iconOf(Clock)}
    >
      <ServerReply group={group} />
      <p>
        {isPast(next_attempt_at) ? (
          'Retry due'
        ) : (
          <>
            Next retry <Time at={next_attempt_at} upcoming />
          </>
        )}{' '}
        (attempt {attempts + 1}).
        {windowMs !== undefined &&
          ` Expires after ${formatWholeDuration(windowMs)} without delivery.`}
      </p>
    </Alert>
  );
}

function Expired({ message, group }: GroupProps) {
  const [{ attempts }] = group.recipients;
  const windowMs = useRetryWindow(message);
  return (
    <Alert
      tone="bad"
      title={`Not delivered to ${recipientsText(group)} in time`}
      icon={iconOf(MailX)}
    >
      <p>
        {attempts === 0 ? 'No attempts' : formatCount(attempts, 'attempt')}
        {windowMs !== undefined && ` within ${formatWholeDuration(windowMs)}`}
        {message.ttl_seconds !== null && ', the time to live set for this message'}.
      </p>
      <ServerReply group={group} />
      <p>“Retry now” restarts the retry window.</p>
    </Alert>
  );
}

/** How long delivery is retried: the message's time to live, limited by the server's setting. */
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

function ServerReply({ group }: { group: RecipientGroup }) {
  const [{ smtp }] = group.recipients;
  if (!smtp?.text) return <p>{recipientsText(group)}</p>;
  // Without a reply code no server was reached: the text is our own, such as a DNS error.
  if (smtp.code === null) {
    return (
      <p>
        {recipientsText(group)}: <SmtpReply smtp={smtp} />
      </p>
    );
  }
  return (
    <p>
      {smtp.mx ?? 'The receiving server'} replied for {recipientsText(group)}:{' '}
      <SmtpReply smtp={smtp} />
    </p>
  );
}

function SmtpReply({ smtp: { code, enhanced, text } }: { smtp: Schema<'SmtpReply'> }) {
  return (
    <q className="font-mono text-xs break-words">
      {[code, enhanced, text].filter(Boolean).join(' ')}
    </q>
  );
}

function BounceAdvice({ message, group }: GroupProps) {
  const senderDomain = message.from.email.split('@').at(-1) ?? '';
  const [{ bounce, email }] = group.recipients;
  if (bounce?.reason === 'authentication_failed') {
    return (
      <p>
        <DomainLink name={senderDomain} />
      </p>
    );
  }
  if (bounce?.class !== 'hard') return null;
  if (isSimulated(email)) {
    return (
      <p>
        A hard bounce would add a real address to the suppression list. Simulator addresses are
        never suppressed.
      </p>
    );
  }
  return (
    <p>
      After a hard bounce, the address is added to the <SuppressionLink email={email} /> to protect
      your sender reputation. Remove it there if the address is valid again.
    </p>
  );
}

/** Leads to the records of the sender domain; in test mode, it may not have been added. */
function DomainLink({ name }: { name: string }) {
  const { api, key } = useApi();
  const domains = useQuery({
    queryKey: key('domains', 'named', name),
    queryFn: () => unwrap(api.GET('/api/v1/domains', { params: { query: { q: name } } })),
  });
  const domain = domains.data?.data.find((one) => one.name === name);
  if (domains.isSuccess && !domain) {
    return (
      <Link to="/domains" search={{ new: 'true' }} className="font-medium underline">
        Add {name} as a sending domain
      </Link>
    );
  }
  return (
    <Link
      to={domain ? '/domains/$id' : '/domains'}
      params={{ id: domain?.id ?? '' }}
      className="font-medium underline"
    >
      Check the DNS records of {name}
    </Link>
  );
}

function SuppressionLink({ email }: { email: string }) {
  return (
    <Link to="/suppressions" search={{ q: email }} className="font-medium underline">
      suppression list
    </Link>
  );
}

function isPast(at: string | null): boolean {
  return at !== null && Date.parse(at) <= Date.now();
}

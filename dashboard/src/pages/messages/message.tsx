import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { MailX } from 'lucide-react';
import { useState } from 'react';
import { apiFor, type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { capitalize, formatBytes, formatWholeDuration } from '../../lib/format.ts';
import { selectMode } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { Replies } from '../inbound/replies.tsx';
import { Attempts } from './attempts.tsx';
import { DeliverySummary } from './delivery-summary.tsx';
import { MessageActions } from './message-actions.tsx';
import { MessageContentTabs } from './message-content.tsx';
import { MessageStatus } from './message-status.tsx';
import { MessageWebhooks } from './message-webhooks.tsx';
import { Timeline } from './timeline.tsx';

const BACK = { to: '/messages', label: 'Messages' };

export function MessagePage() {
  const { id } = useParams({ from: '/inside/messages/$id' });
  const { api, key } = useApi();
  const [tab, setTab] = useState('timeline');
  const canSeeWebhooks = useCan()('read:webhooks');
  const query = useQuery({
    queryKey: key('message', id),
    queryFn: () => unwrap(api.GET('/api/v1/messages/{id}', { params: { path: { id } } })),
  });
  if (query.isPending) return <SkeletonPage />;
  if (query.isError) {
    return toProblem(query.error).status === 404 ? (
      <MessageNotFound id={id} />
    ) : (
      <Page title="Message" back={BACK}>
        <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  const message = query.data;
  const many = message.recipients.length > 1;
  return (
    <Page
      title={message.subject || 'No subject'}
      heading={<Subject text={message.subject || 'No subject'} />}
      back={BACK}
      description={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <MessageStatus status={message.status} recipients={message.recipients} />
          <Time at={message.created_at} className="text-faint" />
          <span className="min-w-0 break-words">
            {message.from.email} <span aria-hidden>→</span>
            <span className="sr-only">to</span> {message.recipients[0]?.email}
            {many && ` and ${message.recipients.length - 1} more`}
          </span>
        </span>
      }
      actions={<MessageActions message={message} />}
    >
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="grid min-w-0 gap-4">
          <DeliverySummary message={message} />
          <Tabs
            label="Message"
            value={tab}
            onChange={setTab}
            tabs={[
              {
                id: 'timeline',
                label: 'Timeline',
                content: <Timeline events={message.events} many={many} />,
              },
              { id: 'content', label: 'Content', content: <MessageContentTabs messageId={id} /> },
              { id: 'attempts', label: 'Attempts', content: <Attempts messageId={id} /> },
              ...(canSeeWebhooks
                ? [
                    {
                      id: 'webhooks',
                      label: 'Webhooks',
                      content: <MessageWebhooks messageId={id} />,
                    },
                  ]
                : []),
            ]}
          />
        </div>
        <aside aria-label="Details" className="grid min-w-0 gap-4">
          <Recipients recipients={message.recipients} />
          <Details message={message} />
          <Replies message={message} />
        </aside>
      </div>
    </Page>
  );
}

/** A longer subject may be truncated in the heading, so the details show it in full. */
const LONG_SUBJECT = 160;

/** Limits the heading to four lines. */
function Subject({ text }: { text: string }) {
  return (
    <span className="line-clamp-4 text-left" dir="auto">
      {text}
    </span>
  );
}

function Recipients({ recipients }: { recipients: Schema<'Recipient'>[] }) {
  return (
    <Section title={recipients.length > 1 ? `${recipients.length} recipients` : 'Recipient'}>
      <ul className="grid gap-3">
        {recipients.map((recipient) => (
          <li key={`${recipient.kind} ${recipient.email}`} className="text-sm">
            <div className="flex items-center gap-2">
              <span className="min-w-0 flex-1 font-medium break-words">{recipient.email}</span>
              <MessageStatus status={recipient.status} recipients={[recipient]} />
            </div>
            <div className="text-xs break-words text-faint">
              {capitalize(recipient.kind)}
              {recipient.name && ` · ${recipient.name}`}
              {recipient.attempts > 1 && ` · ${recipient.attempts} attempts`}
              {recipient.next_attempt_at && (
                <>
                  {recipient.status === 'scheduled' ? ' · sends ' : ' · next retry '}
                  <Time at={recipient.next_attempt_at} upcoming />
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Details({ message }: { message: Schema<'Message'> }) {
  const metadata = Object.entries(message.metadata);
  return (
    <Section title="Details">
      <DetailList>
        <Detail name="ID">
          <CopyCode text={message.id} />
        </Detail>
        {!message.header_message_id.startsWith(`<${message.id}@`) && (
          <Detail name="Message-ID">
            <CopyCode text={message.header_message_id} />
          </Detail>
        )}
        <Detail name="From">
          {message.from.name ? `${message.from.name} <${message.from.email}>` : message.from.email}
        </Detail>
        {message.subject.length > LONG_SUBJECT && (
          <Detail name="Subject">
            <bdi>{message.subject}</bdi>
          </Detail>
        )}
        <Detail name="Stream">
          <Link to="/messages" search={{ stream: message.stream }} className="hover:underline">
            {message.stream}
          </Link>
        </Detail>
        {message.template && (
          <Detail name="Template">
            <Link
              to="/templates/$kind/$key"
              params={{ kind: 'template', key: message.template.key }}
              className="hover:underline"
            >
              {message.template.key}
            </Link>{' '}
            <span className="text-faint">
              {message.template.version === 'draft'
                ? 'draft'
                : `version ${message.template.version}`}
            </span>
          </Detail>
        )}
        {message.scheduled_at && (
          <Detail name="Scheduled">
            <Time at={message.scheduled_at} />
          </Detail>
        )}
        {message.size_bytes !== null && (
          <Detail name="Size">{formatBytes(message.size_bytes)}</Detail>
        )}
        {message.ttl_seconds !== null && (
          <Detail name="Expires">after {formatWholeDuration(message.ttl_seconds * 1000)}</Detail>
        )}
        {message.tags.length > 0 && (
          <Detail name="Tags">
            <span className="flex flex-wrap gap-1">
              {message.tags.map((tag) => (
                <Link key={tag} to="/messages" search={{ tag }} className="max-w-full">
                  <Badge>
                    <span className="min-w-0 break-words whitespace-normal">{tag}</span>
                  </Badge>
                </Link>
              ))}
            </span>
          </Detail>
        )}
        {metadata.map(([name, value]) => (
          <Detail key={name} name={name}>
            <Link
              to="/messages"
              search={{ metadata: `${name}=${value}` }}
              className="font-mono text-xs hover:underline"
            >
              {value}
            </Link>
          </Detail>
        ))}
      </DetailList>
    </Section>
  );
}

/** Offers to switch modes if the message exists in the other mode. */
function MessageNotFound({ id }: { id: string }) {
  const { selection } = useApi();
  const other = selection.mode === 'live' ? 'test' : 'live';
  const otherMode = useQuery({
    queryKey: ['message', selection.workspaceId, other, id],
    queryFn: () =>
      unwrap(
        apiFor({ ...selection, mode: other }).GET('/api/v1/messages/{id}', {
          params: { path: { id } },
        }),
      ),
    retry: false,
  });
  return (
    <Page title="Message" back={BACK}>
      <EmptyState
        icon={MailX}
        title={otherMode.data ? `This is a ${other} message` : 'Message not found'}
        actions={
          otherMode.data && (
            <Button kind="primary" onClick={() => selectMode(other)}>
              Switch to {other} mode
            </Button>
          )
        }
      >
        {otherMode.data
          ? `You’re in ${selection.mode} mode, which doesn’t show ${other} messages.`
          : 'It may have been deleted after its retention period, or it belongs to another workspace.'}
      </EmptyState>
    </Page>
  );
}

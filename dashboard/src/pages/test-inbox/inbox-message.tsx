import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronLeft, KeySquare, Link2, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { buttonClass, IconButton } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { EmailPreview } from '../../components/email-preview.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { dateAndTime } from '../../components/time.tsx';
import { runWithUndo } from '../../layout/toasts.tsx';
import { useCan } from '../../session/session.ts';
import { Attachments } from '../messages/message-content.tsx';
import { useRead } from './read-messages.ts';

type InboxMessage = Schema<'InboxMessage'>;

const ARRIVAL_RETRIES = 8;
const ARRIVAL_RETRY_MS = 300;

/** A message as its recipient sees it, with its links and codes extracted for tests. */
export function InboxMessagePane({
  id,
  onBack,
  onHide,
}: {
  id: string;
  onBack: () => void;
  onHide: (on: boolean) => void;
}) {
  const { api, key } = useApi();
  const [, markRead] = useRead(id);
  const query = useQuery({
    queryKey: key('test-inbox-message', id),
    queryFn: () => unwrap(api.GET('/api/v1/test/inbox/{id}', { params: { path: { id } } })),
    staleTime: 60_000,
    // Right after sending, the message may not have arrived yet.
    retry: (failures, error) => {
      const { status } = toProblem(error);
      if (status === 404) return failures < ARRIVAL_RETRIES;
      return failures < 2 && (status === 0 || status >= 500);
    },
    retryDelay: ARRIVAL_RETRY_MS,
  });
  const loaded = query.data !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: read once it is there.
  useEffect(() => {
    if (loaded) markRead();
  }, [loaded]);
  if (query.isPending) return <SkeletonPage />;
  if (query.isError) {
    return toProblem(query.error).status === 404 ? (
      <EmptyState icon={Trash2} title="Message not found">
        It was deleted, or its retention period has ended.
      </EmptyState>
    ) : (
      <ErrorAlert error={query.error} className="m-6" onRetry={() => void query.refetch()} />
    );
  }
  return <InboxMessageView message={query.data} onBack={onBack} onHide={onHide} />;
}

function InboxMessageView({
  message,
  onBack,
  onHide,
}: {
  message: InboxMessage;
  onBack: () => void;
  onHide: (on: boolean) => void;
}) {
  const { api } = useApi();
  const queries = useQueryClient();
  const canWrite = useCan()('write:messages');
  const [view, setView] = useState('html');
  const remove = () =>
    runWithUndo('Message deleted.', {
      hide: () => onHide(true),
      show: () => onHide(false),
      run: async () => {
        await unwrap(
          api.DELETE('/api/v1/test/inbox/{id}', { params: { path: { id: message.id } } }),
        );
        await queries.invalidateQueries({ queryKey: ['test-inbox'] });
      },
    });
  return (
    <article className="px-4 pt-4 pb-10 sm:px-6 sm:pt-5">
      <div className="flex items-start gap-2">
        <IconButton
          icon={ChevronLeft}
          label="Back to list"
          className="md:hidden"
          onClick={onBack}
        />
        <h2
          dir="auto"
          className="min-w-0 flex-1 text-left text-xl font-semibold tracking-tight break-words"
        >
          {message.subject || 'No subject'}
        </h2>
        <Link to="/messages/$id" params={{ id: message.id }} className={buttonClass('plain')}>
          Timeline
        </Link>
        {canWrite && (
          <IconButton
            icon={Trash2}
            label="Delete message"
            danger
            className="size-8"
            onClick={remove}
          />
        )}
      </div>
      <Envelope message={message} />
      <ExtractedItems message={message} />
      <Tabs
        label="Message views"
        value={view}
        onChange={setView}
        tabs={[
          { id: 'html', label: 'Email', content: <EmailPreview html={message.html} /> },
          {
            id: 'text',
            label: 'Text',
            content: <CodeBlock code={message.text} label="text part" wrap />,
          },
          {
            id: 'source',
            label: 'Source',
            content: <CodeBlock code={message.html} label="HTML source" language="html" wrap />,
          },
          ...(message.attachments.length > 0
            ? [
                {
                  id: 'attachments',
                  label: `Attachments (${message.attachments.length})`,
                  content: <Attachments attachments={message.attachments} />,
                },
              ]
            : []),
        ]}
      />
    </article>
  );
}

function Envelope({ message }: { message: InboxMessage }) {
  const sender = message.from.name || message.from.email;
  return (
    <div className="mt-3 mb-4 flex items-center gap-3">
      <span
        aria-hidden
        className="inline-flex size-9 shrink-0 items-center justify-center rounded-full bg-accent-wash font-semibold text-accent-ink"
      >
        {[...sender][0]?.toUpperCase()}
      </span>
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-60 text-sm">
          <div className="break-words">
            <span className="font-medium">{sender}</span>
            {message.from.name && <span className="text-faint"> &lt;{message.from.email}&gt;</span>}
          </div>
          <div className="break-words text-soft">
            to {message.to.map(({ email, name }) => name || email).join(', ')}
          </div>
        </div>
        <time dateTime={message.arrived_at} className="shrink-0 text-xs text-faint">
          {dateAndTime(message.arrived_at)}
        </time>
      </div>
    </div>
  );
}

function ExtractedItems({ message: { codes, links } }: { message: InboxMessage }) {
  if (codes.length === 0 && links.length === 0) return null;
  return (
    <div className="mb-4 flex flex-wrap gap-2">
      {codes.slice(0, 3).map((code) => (
        <ExtractedItem key={code} icon={KeySquare} label="Code" text={code} />
      ))}
      {links.slice(0, 5).map((link) => (
        <ExtractedItem key={link} icon={Link2} label="Link" text={link} />
      ))}
    </div>
  );
}

function ExtractedItem({
  icon: Icon,
  label,
  text,
}: {
  icon: typeof Link2;
  label: string;
  text: string;
}) {
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1.5 rounded-lg border border-line px-2 py-1 text-xs sm:max-w-80">
      <Icon className="size-3.5 shrink-0 text-faint" aria-hidden />
      <span className="shrink-0 text-faint">{label}</span>
      <CopyCode text={text} />
    </span>
  );
}

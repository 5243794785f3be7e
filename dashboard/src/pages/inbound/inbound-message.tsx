import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Download, Ellipsis, Reply, ShieldAlert, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { fetchRaw, type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { IconButton } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { dateAndTime, Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import { formatBytes } from '../../lib/format.ts';
import type { Selection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { AuthenticationResults } from './authentication-results.tsx';
import { explainAuthentication } from './authentication-texts.ts';
import { InboundContent } from './inbound-content.tsx';
import { senderOf } from './use-inbound-messages.ts';

type InboundMessage = Schema<'InboundMessage'>;

const BACK = { to: '/inbound', label: 'Inbound' };

export function InboundMessagePage() {
  const { id } = useParams({ from: '/inside/inbound/$id' });
  const { api, key } = useApi();
  const query = useQuery({
    queryKey: key('inbound-message', id),
    queryFn: () => unwrap(api.GET('/api/v1/inbound-messages/{id}', { params: { path: { id } } })),
    staleTime: 60_000,
  });
  if (query.isPending) return <SkeletonPage />;
  if (query.isError) {
    return toProblem(query.error).status === 404 ? (
      <NotFound what="inbound message" back={BACK} modes />
    ) : (
      <Page title="Inbound message" back={BACK}>
        <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  const message = query.data;
  const subject = message.subject || 'No subject';
  const [to, ...others] = message.envelope.to;
  return (
    <Page
      title={subject}
      heading={
        <span className="line-clamp-4 text-left" dir="auto">
          {subject}
        </span>
      }
      back={BACK}
      description={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Time at={message.received_at} className="text-faint" />
          <span className="min-w-0 break-words">
            <bdi>{senderOf(message).email || 'Unknown sender'}</bdi> <span aria-hidden>→</span>
            <span className="sr-only">to</span> <bdi>{to}</bdi>
            {others.length > 0 && ` and ${others.length} more`}
          </span>
        </span>
      }
      actions={<InboundMessageActions message={message} />}
    >
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="grid min-w-0 gap-4">
          <ForgeryWarning message={message} />
          {message.in_reply_to_message_id && (
            <AnsweredMessage messageId={message.in_reply_to_message_id} />
          )}
          <InboundContent message={message} />
        </div>
        <aside aria-label="Details" className="grid min-w-0 gap-4">
          <AuthenticationResults authentication={message.authentication} />
          <Details message={message} />
        </aside>
      </div>
    </Page>
  );
}

function ForgeryWarning({ message: { authentication } }: { message: InboundMessage }) {
  if (authentication?.dmarc.result !== 'fail') return null;
  const explained = explainAuthentication(authentication).find(({ check }) => check === 'DMARC');
  return (
    <Alert
      tone="warn"
      title="The sender’s address may be forged"
      icon={<ShieldAlert className="mt-0.5 size-4 shrink-0" aria-hidden />}
    >
      <p>{explained?.explanation}</p>
    </Alert>
  );
}

/** The message that was answered, which may have been deleted after its retention period. */
function AnsweredMessage({ messageId }: { messageId: string }) {
  const { api, key } = useApi();
  const canRead = useCan()('read:messages');
  const answered = useQuery({
    queryKey: key('message', messageId),
    queryFn: () =>
      unwrap(api.GET('/api/v1/messages/{id}', { params: { path: { id: messageId } } })),
    enabled: canRead,
    retry: false,
  });
  return (
    <Link
      to="/messages/$id"
      params={{ id: messageId }}
      className="flex min-w-0 items-center gap-2.5 rounded-lg border border-line px-3 py-2.5 text-sm transition-colors hover:bg-sunken"
    >
      <Reply className="size-4 shrink-0 text-faint" aria-hidden />
      <span className="shrink-0 text-soft">Reply to</span>
      <bdi className="min-w-0 truncate font-medium">
        {answered.data ? answered.data.subject || 'No subject' : messageId}
      </bdi>
    </Link>
  );
}

function InboundMessageActions({ message: { id } }: { message: InboundMessage }) {
  const { api, selection } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const canWrite = useCan()('write:inbound_messages');
  const remove = () =>
    requestConfirmation({
      title: 'Delete this message?',
      body: 'The message, its content and its attachments are deleted permanently. Its event stays in the event log until it expires.',
      confirmLabel: 'Delete message',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/inbound-messages/{id}', { params: { path: { id } } }));
        void navigate({ to: '/inbound' });
        await queries.invalidateQueries({ queryKey: ['inbound-messages'] });
        showToast('Message deleted.');
      },
    });
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
      <MenuItem icon={Download} onSelect={() => void download(selection, id).catch(showErrorToast)}>
        Download .eml
      </MenuItem>
      {canWrite && (
        <MenuItem icon={Trash2} danger onSelect={remove}>
          Delete
        </MenuItem>
      )}
    </Menu>
  );
}

async function download(selection: Selection, id: string): Promise<void> {
  const response = await fetchRaw(selection, `/api/v1/inbound-messages/${id}/raw`);
  downloadFile(await response.blob(), `${id}.eml`);
}

/** A longer subject may be truncated in the heading, so the details show it in full. */
const LONG_SUBJECT = 160;

function Details({ message }: { message: InboundMessage }) {
  const { envelope, from } = message;
  return (
    <Section title="Details">
      <DetailList>
        <Detail name="ID">
          <CopyCode text={message.id} />
        </Detail>
        <Detail name="From">
          {from ? (
            <MailboxList mailboxes={[from]} />
          ) : (
            <span className="text-faint">No address</span>
          )}
        </Detail>
        {message.reply_to.length > 0 && (
          <Detail name="Reply-To">
            <MailboxList mailboxes={message.reply_to} />
          </Detail>
        )}
        {message.to.length > 0 && (
          <Detail name="To">
            <MailboxList mailboxes={message.to} />
          </Detail>
        )}
        {message.cc.length > 0 && (
          <Detail name="Cc">
            <MailboxList mailboxes={message.cc} />
          </Detail>
        )}
        {message.subject.length > LONG_SUBJECT && (
          <Detail name="Subject">
            <bdi>{message.subject}</bdi>
          </Detail>
        )}
        <Detail name="Envelope from">
          {envelope.from || <span className="text-faint">Empty (automatic message)</span>}
        </Detail>
        <Detail name="Envelope to">
          <MailboxList mailboxes={envelope.to.map((email) => ({ email, name: null }))} />
        </Detail>
        <Detail name="Domain">
          <Link to="/inbound" search={{ domain: message.domain }} className="hover:underline">
            {message.domain}
          </Link>
        </Detail>
        <Detail name="Received">{dateAndTime(message.received_at)}</Detail>
        {message.date && <Detail name="Date header">{dateAndTime(message.date)}</Detail>}
        <Detail name="Size">{formatBytes(message.size_bytes)}</Detail>
        {message.message_id && (
          <Detail name="Message-ID">
            <CopyCode text={message.message_id} />
          </Detail>
        )}
        {message.in_reply_to && (
          <Detail name="In-Reply-To">
            <CopyCode text={message.in_reply_to} />
          </Detail>
        )}
      </DetailList>
    </Section>
  );
}

const MAILBOXES_SHOWN = 5;

function MailboxList({ mailboxes }: { mailboxes: readonly Schema<'InboundMailbox'>[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? mailboxes : mailboxes.slice(0, MAILBOXES_SHOWN);
  return (
    <span className="grid justify-items-start gap-0.5">
      {shown.map(({ email, name }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an address may occur twice.
        <span key={index} className="max-w-full wrap-anywhere">
          {name ? (
            <>
              <bdi>{name}</bdi> <bdi className="text-faint">&lt;{email}&gt;</bdi>
            </>
          ) : (
            <bdi>{email}</bdi>
          )}
        </span>
      ))}
      {shown.length < mailboxes.length && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="rounded text-xs font-medium text-accent-ink hover:underline"
        >
          Show all {mailboxes.length}
        </button>
      )}
    </span>
  );
}

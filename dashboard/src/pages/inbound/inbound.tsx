import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Mailbox, MailPlus, Paperclip, Reply, SearchX, ShieldAlert } from 'lucide-react';
import { Button, buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { Time } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { useArrivals } from '../../layout/live-list.ts';
import { classNames } from '../../lib/class-names.ts';
import { useMediaQuery } from '../../lib/use-media-query.ts';
import { useSelection } from '../../session/selection.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet } from '../api-keys/snippet-code.ts';
import { InboundFilterBar } from './inbound-filters.tsx';
import { SimulateDialog } from './simulate-dialog.tsx';
import { useDomains, useExampleAddress } from './use-domains.ts';
import {
  type InboundFilters,
  type InboundSummary,
  senderOf,
  useInboundMessages,
} from './use-inbound-messages.ts';

const ROW_PX = 44;
const ROW_ON_PHONE_PX = 64;

export function InboundPage() {
  const { new: simulating, ...filters } = useSearch({ from: '/inside/inbound' });
  const { mode } = useSelection();
  const canSimulate = useCan()('write:inbound_messages') && mode === 'test';
  const formOpen = useFormOpen(simulating !== undefined, 'write:inbound_messages');
  const navigate = useNavigate();
  const list = useInboundMessages(filters);
  const wide = useMediaQuery('(min-width: 48rem)');
  const isNew = useArrivals(list.rows);
  const change = (next: InboundFilters & { new?: string }) =>
    void navigate({ to: '/inbound', search: next, replace: true });
  const simulateButton = canSimulate && (
    <Button kind="primary" icon={MailPlus} onClick={() => change({ ...filters, new: 'true' })}>
      Simulate
    </Button>
  );
  return (
    <Page
      full
      title="Inbound"
      description={
        mode === 'live'
          ? 'Mail sent to your domains for which receiving is on.'
          : 'Simulated mail to your domains.'
      }
      actions={simulateButton}
    >
      <InboundFilterBar filters={filters} onChange={change}>
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="message" />
      </InboundFilterBar>
      <PaginatedList
        list={list}
        items="messages"
        placeholderRows={12}
        empty={
          Object.keys(filters).length > 0 ? (
            <EmptyState
              icon={SearchX}
              title="No inbound messages match these filters"
              actions={<Button onClick={() => change({})}>Clear filters</Button>}
            >
              New matching messages appear here automatically.
            </EmptyState>
          ) : (
            <NoInboundMessages />
          )
        }
      >
        <Columns />
        <VirtualList
          label="Inbound messages"
          rows={list.rows}
          rowHeight={wide ? ROW_PX : ROW_ON_PHONE_PX}
          keyOf={({ id }) => id}
        >
          {(message) => <InboundRow message={message} arrived={isNew(message.id)} />}
        </VirtualList>
      </PaginatedList>
      {formOpen && canSimulate && <SimulateDialog onClose={() => change(filters)} />}
    </Page>
  );
}

/** The columns of the header and of each row. On phones, a row has two lines. */
const COLUMNS =
  'md:grid-cols-[minmax(9rem,16rem)_minmax(0,1fr)_7rem] 2xl:grid-cols-[minmax(9rem,20rem)_minmax(0,1fr)_18rem_7rem]';

/** Rows are links of a list and speak for themselves, so screen readers skip the labels. */
function Columns() {
  return (
    <div
      aria-hidden
      className={classNames(
        'sticky top-0 z-2 hidden h-8 items-center gap-x-3 border-line border-t bg-sunken px-6 text-xs font-medium text-faint md:grid',
        COLUMNS,
      )}
    >
      <span>Sender</span>
      <span>Subject</span>
      <span className="hidden 2xl:block">Recipient</span>
      <span className="text-right">Received</span>
    </div>
  );
}

function InboundRow({ message, arrived }: { message: InboundSummary; arrived: boolean }) {
  const { name, email } = senderOf(message);
  const [to, ...others] = message.envelope.to;
  return (
    <div
      className={classNames(
        'row-link grid h-full grid-cols-[minmax(0,1fr)_auto] content-center items-center gap-x-3 gap-y-0.5 border-b border-line px-4 text-sm transition-colors hover:bg-sunken has-focus-visible:bg-sunken sm:px-6',
        COLUMNS,
        arrived && 'arrived',
      )}
    >
      <span className="order-1 min-w-0 truncate md:order-none" title={email}>
        <bdi className="font-medium">{name}</bdi>
        {name !== email && <span className="text-xs text-faint"> {email}</span>}
      </span>
      <span className="order-3 col-span-2 flex min-w-0 items-center gap-2 md:order-none md:col-span-1">
        <Link
          to="/inbound/$id"
          params={{ id: message.id }}
          data-row
          dir="auto"
          className="cover min-w-0 scroll-mt-12 truncate text-left text-soft md:text-ink"
        >
          {message.subject === '' ? (
            <span className="text-faint">No subject</span>
          ) : (
            message.subject
          )}
        </Link>
        <Marks message={message} />
      </span>
      <span className="hidden truncate text-xs text-soft 2xl:block">
        {to}
        {others.length > 0 && <span className="text-faint"> +{others.length}</span>}
      </span>
      <Time
        at={message.received_at}
        className="order-2 text-right text-xs text-faint md:order-none"
      />
    </div>
  );
}

/** What to know about a message before opening it. */
function Marks({ message }: { message: InboundSummary }) {
  return (
    <span className="ml-auto flex shrink-0 items-center gap-1.5 text-faint">
      {message.authentication?.dmarc.result === 'fail' && (
        <ShieldAlert
          className="size-3.5 text-warn"
          role="img"
          aria-label="The sender may be forged"
        />
      )}
      {message.in_reply_to_message_id && (
        <Reply className="size-3.5" role="img" aria-label="Reply to a message of yours" />
      )}
      {message.attachments.length > 0 && (
        <Paperclip className="size-3.5" role="img" aria-label="Has attachments" />
      )}
    </span>
  );
}

function NoInboundMessages() {
  const { mode } = useSelection();
  return mode === 'test' ? <NothingSimulated /> : <NothingReceived />;
}

const DOCUMENTATION_LINK = (
  <a href="/docs/inbound" className={buttonClass()}>
    Read the documentation
  </a>
);

/** How to receive mail, or where to send some if a domain receives it. */
function NothingReceived() {
  const receiving = useDomains()?.find((domain) => domain.receiving);
  if (receiving) {
    return (
      <EmptyState
        icon={Mailbox}
        title="No inbound messages yet"
        actions={
          <>
            <Link to="/domains/$id" params={{ id: receiving.id }} className={buttonClass()}>
              View DNS records
            </Link>
            {DOCUMENTATION_LINK}
          </>
        }
      >
        Send an email to any address at{' '}
        <span className="font-medium break-words text-ink">{receiving.name}</span> and it appears
        here automatically.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={Mailbox}
      title="No inbound messages yet"
      actions={
        <>
          <Link to="/domains" className={buttonClass('primary')}>
            Choose a domain
          </Link>
          {DOCUMENTATION_LINK}
        </>
      }
    >
      Turn on receiving for a verified domain, for example reply.yourdomain.com, and publish its MX
      record. Mail to any address at the domain then appears here.
    </EmptyState>
  );
}

function NothingSimulated() {
  const needsDomain = useDomains()?.length === 0;
  const address = useExampleAddress();
  return (
    <EmptyState
      icon={Mailbox}
      title="No simulated messages yet"
      actions={
        <>
          {needsDomain && (
            <Link to="/domains" className={buttonClass()}>
              Add a domain first
            </Link>
          )}
          {DOCUMENTATION_LINK}
        </>
      }
      example={
        <ShellExample
          scopes={['write:inbound_messages']}
          code={({ token }) =>
            curlSnippet('/inbound-messages/simulate', token, {
              from: { email: 'jane@example.com', name: 'Jane' },
              to: { email: address },
              subject: 'Where is my order?',
              text: 'It should have arrived on Friday.',
            })
          }
        />
      }
    >
      No mail from outside arrives in test mode. A simulated message is stored and sent to webhooks
      like a received one.
    </EmptyState>
  );
}

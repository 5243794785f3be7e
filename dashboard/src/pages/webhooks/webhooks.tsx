import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useSelection } from '../../session/selection.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet, domainOf } from '../api-keys/snippet-code.ts';
import {
  EndpointBadge,
  EndpointUrl,
  endpointStatus,
  summarizeEvents,
  type Webhook,
} from './endpoint-status.tsx';
import { CreateWebhook } from './webhook-dialogs.tsx';

export function WebhooksPage() {
  const { api, key } = useApi();
  const canWrite = useCan()('write:webhooks');
  const navigate = useNavigate();
  const { new: adding } = useSearch({ from: '/inside/webhooks' });
  const formOpen = useFormOpen(adding !== undefined, 'write:webhooks');
  const list = usePaginatedQuery(key('webhooks'), (cursor) =>
    unwrap(api.GET('/api/v1/webhooks', { params: { query: pageParams(cursor) } })),
  );
  const add = (on: boolean) =>
    void navigate({ to: '/webhooks', search: on ? { new: 'true' } : {}, replace: !on });
  const addButton = canWrite && (
    <Button kind="primary" icon={Plus} onClick={() => add(true)}>
      Add endpoint
    </Button>
  );
  return (
    <Page
      full
      title="Webhooks"
      description="Events are posted to your server, signed, and retried until they are received."
      actions={addButton}
    >
      <PaginatedList list={list} placeholderRows={4} empty={<NoWebhooks addButton={addButton} />}>
        <Table label="Webhook endpoints">
          <thead>
            <tr>
              <Th>Endpoint</Th>
              <Th>Status</Th>
              <Th hideBelow="md">Events</Th>
              <Th hideBelow="md">Added</Th>
            </tr>
          </thead>
          <tbody>
            {list.rows.map((webhook) => (
              <WebhookRow key={webhook.id} webhook={webhook} />
            ))}
          </tbody>
        </Table>
      </PaginatedList>
      {formOpen && <CreateWebhook onClose={() => add(false)} />}
    </Page>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { short } = endpointStatus(webhook);
  return (
    <Tr className="row-link">
      <Td className="w-full max-w-0">
        <Link
          to="/webhooks/$id"
          params={{ id: webhook.id }}
          data-row
          className="cover block truncate font-medium outline-none"
        >
          <EndpointUrl url={webhook.url} />
        </Link>
        {webhook.description && (
          <p className="truncate text-xs text-faint">{webhook.description}</p>
        )}
      </Td>
      <Td>
        <span className="flex items-center gap-2 whitespace-nowrap">
          <EndpointBadge webhook={webhook} />
          <span className="hidden text-xs text-faint lg:inline">{short}</span>
        </span>
      </Td>
      <Td hideBelow="md" className="whitespace-nowrap text-soft">
        <span title={webhook.events.join(', ')}>{summarizeEvents(webhook.events)}</span>
        {webhook.streams.length > 0 && (
          <p className="max-w-48 truncate text-xs text-faint">{webhook.streams.join(', ')}</p>
        )}
      </Td>
      <Td hideBelow="md" className="whitespace-nowrap text-soft">
        <Time at={webhook.created_at} />
      </Td>
    </Tr>
  );
}

function NoWebhooks({ addButton }: { addButton: React.ReactNode }) {
  const { mode } = useSelection();
  return (
    <EmptyState
      icon={WebhookIcon}
      title={mode === 'live' ? 'No live endpoints yet' : 'No test endpoints yet'}
      actions={addButton}
      example={
        <ShellExample
          scopes={['write:webhooks']}
          code={({ token, from }) =>
            curlSnippet('/webhooks', token, {
              url: `https://${domainOf(from)}/webhooks/postrider`,
              events: ['message.*'],
            })
          }
        />
      }
    >
      Get notified about deliveries, bounces and complaints as they happen. Enter a URL, select
      events, and verify the signatures.
    </EmptyState>
  );
}

import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { pageQuery, usePages } from '../../api/use-pages.ts';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Empty } from '../../parts/empty.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { Page } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Table, Td, Th, Tr } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { usePlace } from '../../session/place.ts';
import { useFormOpen, useMay } from '../../session/session.ts';
import {
  EndpointBadge,
  EndpointUrl,
  eventsInWords,
  stateOf,
  type Webhook,
} from './endpoint-state.tsx';
import { CreateWebhook } from './webhook-dialogs.tsx';

export function WebhooksPage() {
  const { api, key } = useHere();
  const mayWrite = useMay()('write:webhooks');
  const navigate = useNavigate();
  const { new: adding } = useSearch({ from: '/inside/webhooks' });
  const formOpen = useFormOpen(adding !== undefined, 'write:webhooks');
  const list = usePages(key('webhooks'), (cursor) =>
    ask(api.GET('/api/v1/webhooks', { params: { query: pageQuery(cursor) } })),
  );
  const add = (on: boolean) =>
    void navigate({ to: '/webhooks', search: on ? { new: 'true' } : {}, replace: !on });
  const addButton = mayWrite && (
    <Button kind="primary" icon={Plus} onClick={() => add(true)}>
      Add endpoint
    </Button>
  );
  return (
    <Page
      full
      title="Webhooks"
      description="Each event is posted to your server, signed, and tried again until it is received."
      actions={addButton}
    >
      {list.isPending ? (
        <SkeletonRows rows={4} />
      ) : list.isError ? (
        <ProblemNote
          error={list.error}
          className="mx-4 sm:mx-6"
          onRetry={() => void list.refetch()}
        />
      ) : list.rows.length === 0 ? (
        <NoWebhooks addButton={addButton} />
      ) : (
        <>
          <Table label="Webhook endpoints">
            <thead>
              <tr>
                <Th>Endpoint</Th>
                <Th>State</Th>
                <Th later>Events</Th>
                <Th later>Added</Th>
              </tr>
            </thead>
            <tbody>
              {list.rows.map((webhook) => (
                <WebhookRow key={webhook.id} webhook={webhook} />
              ))}
            </tbody>
          </Table>
          <LoadMore {...list} />
        </>
      )}
      {formOpen && <CreateWebhook onClose={() => add(false)} />}
    </Page>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { short } = stateOf(webhook);
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
      <Td later className="whitespace-nowrap text-soft">
        <span title={webhook.events.join(', ')}>{eventsInWords(webhook.events)}</span>
      </Td>
      <Td later className="whitespace-nowrap text-soft">
        <Time at={webhook.created_at} />
      </Td>
    </Tr>
  );
}

function NoWebhooks({ addButton }: { addButton: React.ReactNode }) {
  const { mode } = usePlace();
  return (
    <Empty
      icon={WebhookIcon}
      title={mode === 'live' ? 'No live endpoint yet' : 'No test endpoint yet'}
      actions={addButton}
      teach={
        <CodeBlock
          label="example"
          code={[
            `curl ${location.origin}/api/v1/webhooks \\`,
            `  -H 'Authorization: Bearer pr_${mode}_…' \\`,
            `  -H 'Content-Type: application/json' \\`,
            `  -d '{"url":"https://yourdomain.com/hooks/mail","events":["message.*"]}'`,
          ].join('\n')}
        />
      }
    >
      Learn of deliveries, bounces and complaints the moment they happen. Give a URL, choose the
      events, and check the signature of what arrives.
    </Empty>
  );
}

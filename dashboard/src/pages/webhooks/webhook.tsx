import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Ellipsis, KeyRound, Pencil, Power, Repeat, Send, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { useCan } from '../../session/session.ts';
import { Deliveries } from './deliveries.tsx';
import { EndpointBadge, EndpointUrl, endpointStatus, type Webhook } from './endpoint-status.tsx';
import { ReplayMany } from './replay.tsx';
import { TestWebhookDialog } from './test-webhook-dialog.tsx';
import { EditWebhook, RotateSecret, useWebhookChanged } from './webhook-dialogs.tsx';
import { VerificationDetails, WEBHOOK_FORMATS } from './webhook-formats.tsx';

/** While events wait. */
const POLL_MS = 15_000;
const BACK = { to: '/webhooks', label: 'Webhooks' };

export function WebhookPage() {
  const { id } = useParams({ from: '/inside/webhooks/$id' });
  const filters = useSearch({ from: '/inside/webhooks/$id' });
  const navigate = useNavigate();
  const webhook = useWebhook(id);
  if (webhook.isPending) return <SkeletonPage />;
  if (webhook.isError && toProblem(webhook.error).status === 404) {
    return <NotFound what="endpoint" back={BACK} modes />;
  }
  if (webhook.isError) {
    return (
      <Page title="Webhook endpoint" back={BACK}>
        <ErrorAlert error={webhook.error} onRetry={() => void webhook.refetch()} />
      </Page>
    );
  }
  return (
    <Page
      title={webhook.data.url}
      heading={<EndpointUrl url={webhook.data.url} />}
      back={BACK}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <EndpointBadge webhook={webhook.data} />
          {webhook.data.description}
        </span>
      }
      actions={<WebhookActions webhook={webhook.data} />}
    >
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="grid min-w-0 gap-4">
          <StatusAlert webhook={webhook.data} />
          <Deliveries
            webhookId={id}
            filters={filters}
            onChange={(search) =>
              void navigate({ to: '/webhooks/$id', params: { id }, search, replace: true })
            }
          />
        </div>
        <Details webhook={webhook.data} />
      </div>
    </Page>
  );
}

export function useWebhook(id: string) {
  const { api, key } = useApi();
  return useQuery({
    queryKey: key('webhook', id),
    queryFn: () => unwrap(api.GET('/api/v1/webhooks/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.waiting_events ? POLL_MS : false),
  });
}

function useSetEnabled({ id }: Webhook) {
  const { api } = useApi();
  const changed = useWebhookChanged();
  return useMutation({
    mutationFn: (enabled: boolean) =>
      unwrap(api.PATCH('/api/v1/webhooks/{id}', { params: { path: { id } }, body: { enabled } })),
    onSuccess: async (_webhook, enabled) => {
      await changed();
      showToast(enabled ? 'Endpoint enabled.' : 'Endpoint disabled.');
    },
    onError: showErrorToast,
  });
}

/** Explains why an endpoint is disabled or failing, and how to fix it. */
function StatusAlert({ webhook }: { webhook: Webhook }) {
  const updating = useSetEnabled(webhook);
  const canWrite = useCan()('write:webhooks');
  const [missedSince, setMissedSince] = useState<string>();
  const { explanation } = endpointStatus(webhook);
  const replay = missedSince !== undefined && (
    <ReplayMany webhook={webhook} since={missedSince} onClose={() => setMissedSince(undefined)} />
  );
  if (explanation === undefined) return replay || null;
  if (webhook.enabled) {
    return (
      <>
        <Alert tone="warn" title={explanation}>
          <p>
            We’re retrying one event at a time. See the attempts below. After 5 days without a
            successful delivery, the endpoint is disabled.
          </p>
        </Alert>
        {replay}
      </>
    );
  }
  const enable = async () => {
    const since = webhook.disabled_at;
    await updating.mutateAsync(true);
    if (since !== null) setMissedSince(since);
  };
  return (
    <>
      <Alert
        tone={webhook.disabled_reason === 'manual' ? 'info' : 'bad'}
        title={<>This endpoint is disabled. {explanation}</>}
        icon={<Power className="mt-0.5 size-4 shrink-0" aria-hidden />}
      >
        <p>Events are not delivered while it is disabled. You can replay them after enabling it.</p>
        {canWrite && (
          <div className="mt-1">
            <Button
              size="small"
              busy={updating.isPending}
              onClick={() => void enable().catch(() => undefined)}
            >
              Enable endpoint
            </Button>
          </div>
        )}
      </Alert>
      {replay}
    </>
  );
}

type Open = 'edit' | 'rotate' | 'test' | 'replay';

function WebhookActions({ webhook }: { webhook: Webhook }) {
  const canWrite = useCan()('write:webhooks');
  const [open, setOpen] = useState<Open>();
  const updating = useSetEnabled(webhook);
  const remove = useRemove(webhook);
  const close = () => setOpen(undefined);
  if (!canWrite) return null;
  return (
    <>
      <Button icon={Send} onClick={() => setOpen('test')}>
        Send test
      </Button>
      <Button icon={Repeat} disabled={!webhook.enabled} onClick={() => setOpen('replay')}>
        Replay
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={KeyRound} onSelect={() => setOpen('rotate')}>
          Rotate secret
        </MenuItem>
        <MenuItem icon={Power} onSelect={() => updating.mutate(!webhook.enabled)}>
          {webhook.enabled ? 'Disable' : 'Enable'}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} danger onSelect={remove}>
          Delete
        </MenuItem>
      </Menu>
      {open === 'edit' && <EditWebhook webhook={webhook} onClose={close} />}
      {open === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
      {open === 'test' && <TestWebhookDialog webhook={webhook} onClose={close} />}
      {open === 'replay' && <ReplayMany webhook={webhook} onClose={close} />}
    </>
  );
}

function useRemove(webhook: Webhook): () => void {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () =>
    requestConfirmation({
      title: 'Delete this endpoint?',
      body: (
        <>
          <b className="font-medium break-all text-ink">{webhook.url}</b> will no longer receive
          events. Its secrets and delivery log are deleted permanently. To pause it, disable it
          instead.
        </>
      ),
      confirmLabel: 'Delete endpoint',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/webhooks/{id}', { params: { path: { id: webhook.id } } }));
        void navigate({ to: '/webhooks' });
        await queries.invalidateQueries({ queryKey: ['webhooks'] });
        showToast('Endpoint deleted.');
      },
    });
}

function Details({ webhook }: { webhook: Webhook }) {
  const headers = Object.keys(webhook.headers);
  return (
    <Section title="Details">
      <DetailList>
        <Detail name="ID">
          <CopyCode text={webhook.id} />
        </Detail>
        {webhook.format !== 'postrider' && (
          <Detail name="Format">{WEBHOOK_FORMATS[webhook.format].label}</Detail>
        )}
        <VerificationDetails webhook={webhook} />
        <Detail name="Events">
          <span className="flex flex-wrap gap-1">
            {webhook.events.map((type) => (
              <Badge key={type}>{type === '*' ? 'All events' : type}</Badge>
            ))}
          </span>
        </Detail>
        {webhook.streams.length > 0 && (
          <Detail name="Streams">
            <span className="flex flex-wrap gap-1">
              {webhook.streams.map((key) => (
                <Badge key={key}>{key}</Badge>
              ))}
            </span>
          </Detail>
        )}
        {headers.length > 0 && (
          <Detail name="Headers">
            {headers.map((name) => (
              <span key={name} className="flex flex-wrap gap-x-2 font-mono text-xs leading-5">
                {name} <span className="text-faint">Hidden</span>
              </span>
            ))}
          </Detail>
        )}
        {webhook.waiting_events > 0 && (
          <Detail name="Waiting">
            {formatCount(webhook.waiting_events, 'event')}, the oldest from{' '}
            <Time at={webhook.waiting_since} />
          </Detail>
        )}
        <Detail name="Added">
          <Time at={webhook.created_at} />
        </Detail>
        <Detail name="Updated">
          <Time at={webhook.updated_at} />
        </Detail>
      </DetailList>
    </Section>
  );
}

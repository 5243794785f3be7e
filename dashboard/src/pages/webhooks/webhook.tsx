import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Ellipsis, KeyRound, Pencil, Power, Repeat, Send, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { problemOf } from '../../api/problem.ts';
import { confirmFirst } from '../../frame/confirm.tsx';
import { NotHere } from '../../frame/not-here.tsx';
import { tell, tellProblem } from '../../frame/toasts.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { CopyCode } from '../../parts/copy.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonPage } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';
import { useMay } from '../../session/session.ts';
import { Deliveries } from './deliveries.tsx';
import { EndpointBadge, EndpointUrl, stateOf, type Webhook } from './endpoint-state.tsx';
import { ReplayMany } from './replay.tsx';
import { EditWebhook, RotateSecret, useWebhookChanged } from './webhook-dialogs.tsx';
import { TestWebhook } from './webhook-test.tsx';

const BACK = { to: '/webhooks', label: 'Webhooks' };

export function WebhookPage() {
  const { id } = useParams({ from: '/inside/webhooks/$id' });
  const filters = useSearch({ from: '/inside/webhooks/$id' });
  const navigate = useNavigate();
  const webhook = useWebhook(id);
  if (webhook.isPending) return <SkeletonPage />;
  if (webhook.isError && problemOf(webhook.error).status === 404) {
    return <NotHere what="endpoint" back={BACK} modes />;
  }
  if (webhook.isError) {
    return (
      <Page title="Webhook endpoint" back={BACK}>
        <ProblemNote error={webhook.error} onRetry={() => void webhook.refetch()} />
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
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="grid min-w-0 gap-4">
          <StateNote webhook={webhook.data} />
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
  const { api, key } = useHere();
  return useQuery({
    queryKey: key('webhook', id),
    queryFn: () => ask(api.GET('/api/v1/webhooks/{id}', { params: { path: { id } } })),
  });
}

function useSwitch({ id }: Webhook) {
  const { api } = useHere();
  const changed = useWebhookChanged();
  return useMutation({
    mutationFn: (enabled: boolean) =>
      ask(api.PATCH('/api/v1/webhooks/{id}', { params: { path: { id } }, body: { enabled } })),
    onSuccess: async (_webhook, enabled) => {
      await changed();
      tell(enabled ? 'The endpoint is on again.' : 'The endpoint is off.');
    },
    onError: tellProblem,
  });
}

/** Why it is off or failing, and the way back. */
function StateNote({ webhook }: { webhook: Webhook }) {
  const switching = useSwitch(webhook);
  const mayWrite = useMay()('write:webhooks');
  const [missedSince, setMissedSince] = useState<string>();
  const { why } = stateOf(webhook);
  const replay = missedSince !== undefined && (
    <ReplayMany webhook={webhook} since={missedSince} onClose={() => setMissedSince(undefined)} />
  );
  if (why === undefined) return replay || null;
  if (webhook.enabled) {
    return (
      <>
        <Note tone="warn" title={why}>
          <p>
            We ask it one event at a time until it answers. The tries below tell what it says. After
            five days without a success it is switched off.
          </p>
        </Note>
        {replay}
      </>
    );
  }
  const turnOn = async () => {
    const since = webhook.disabled_at;
    await switching.mutateAsync(true);
    if (since !== null) setMissedSince(since);
  };
  return (
    <>
      <Note
        tone={webhook.disabled_reason === 'manual' ? 'info' : 'bad'}
        title={<>This endpoint is off. {why}</>}
        icon={<Power className="mt-0.5 size-4 shrink-0" aria-hidden />}
      >
        <p>
          Events since then were not kept for it. Switched on again, it can be sent what it missed.
        </p>
        {mayWrite && (
          <div className="mt-1">
            <Button
              size="small"
              busy={switching.isPending}
              onClick={() => void turnOn().catch(() => undefined)}
            >
              Switch it on
            </Button>
          </div>
        )}
      </Note>
      {replay}
    </>
  );
}

type Open = 'edit' | 'rotate' | 'test' | 'replay';

function WebhookActions({ webhook }: { webhook: Webhook }) {
  const mayWrite = useMay()('write:webhooks');
  const [open, setOpen] = useState<Open>();
  const switching = useSwitch(webhook);
  const remove = useRemove(webhook);
  const close = () => setOpen(undefined);
  if (!mayWrite) return null;
  return (
    <>
      <Button icon={Send} onClick={() => setOpen('test')}>
        Send a test
      </Button>
      <Button icon={Repeat} disabled={!webhook.enabled} onClick={() => setOpen('replay')}>
        Replay
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Change
        </MenuItem>
        <MenuItem icon={KeyRound} onSelect={() => setOpen('rotate')}>
          Rotate the secret
        </MenuItem>
        <MenuItem icon={Power} onSelect={() => switching.mutate(!webhook.enabled)}>
          {webhook.enabled ? 'Switch off' : 'Switch on'}
        </MenuItem>
        <MenuLine />
        <MenuItem icon={Trash2} danger onSelect={remove}>
          Delete
        </MenuItem>
      </Menu>
      {open === 'edit' && <EditWebhook webhook={webhook} onClose={close} />}
      {open === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
      {open === 'test' && <TestWebhook webhook={webhook} onClose={close} />}
      {open === 'replay' && <ReplayMany webhook={webhook} onClose={close} />}
    </>
  );
}

function useRemove(webhook: Webhook): () => void {
  const { api } = useHere();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () =>
    confirmFirst({
      title: 'Delete this endpoint?',
      body: (
        <>
          <b className="font-medium break-all text-ink">{webhook.url}</b> gets nothing any more, and
          its secrets and the record of what was sent are gone for good. To pause it, switch it off
          instead.
        </>
      ),
      verb: 'Delete endpoint',
      run: async () => {
        await ask(api.DELETE('/api/v1/webhooks/{id}', { params: { path: { id: webhook.id } } }));
        void navigate({ to: '/webhooks' });
        await queries.invalidateQueries({ queryKey: ['webhooks'] });
        tell('The endpoint is deleted.');
      },
    });
}

function Details({ webhook }: { webhook: Webhook }) {
  const headers = Object.keys(webhook.headers);
  return (
    <Section title="Details">
      <Facts>
        <Fact name="Id">
          <CopyCode text={webhook.id} />
        </Fact>
        <Fact name="Events">
          <span className="flex flex-wrap gap-1">
            {webhook.events.map((type) => (
              <Badge key={type}>{type === '*' ? 'everything' : type}</Badge>
            ))}
          </span>
        </Fact>
        {headers.length > 0 && (
          <Fact name="Headers">
            {headers.map((name) => (
              <span key={name} className="flex flex-wrap gap-x-2 font-mono text-xs leading-5">
                {name} <span className="text-faint">hidden</span>
              </span>
            ))}
          </Fact>
        )}
        <Fact name="Added">
          <Time at={webhook.created_at} />
        </Fact>
        <Fact name="Changed">
          <Time at={webhook.updated_at} />
        </Fact>
      </Facts>
    </Section>
  );
}

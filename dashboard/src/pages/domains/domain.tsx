import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Ellipsis, RefreshCw, RotateCw, Trash2 } from 'lucide-react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { problemOf } from '../../api/problem.ts';
import { confirmFirst } from '../../frame/confirm.tsx';
import { NotHere } from '../../frame/not-here.tsx';
import { tell, tellProblem } from '../../frame/toasts.tsx';
import { Badge, StatusBadge } from '../../parts/badge.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonPage } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';
import { useMay } from '../../session/session.ts';
import { DomainRecords } from './domain-records.tsx';
import { DomainSettings } from './domain-settings.tsx';
import type { Domain } from './domains.tsx';

const BACK = { to: '/domains', label: 'Domains' };
const WATCH_MS = 10_000;

export function DomainPage() {
  const { id } = useParams({ from: '/inside/domains/$id' });
  const { api, key } = useHere();
  const query = useQuery({
    queryKey: key('domain', id),
    queryFn: () => ask(api.GET('/api/v1/domains/{id}', { params: { path: { id } } })),
    // Somebody who has just published a record waits for it to turn green.
    refetchInterval: ({ state }) => (state.data?.status === 'verified' ? false : WATCH_MS),
  });
  if (query.isPending) return <SkeletonPage />;
  if (query.isLoadingError && problemOf(query.error).status === 404) {
    return <NotHere what="domain" back={BACK} />;
  }
  if (query.isLoadingError) {
    return (
      <Page title="Domain" back={BACK}>
        <ProblemNote error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  const domain = query.data;
  return (
    <Page
      title={domain.name}
      back={BACK}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <StatusBadge status={domain.status} />
          {domain.trusted && <Badge>trusted by the operator</Badge>}
          <span>
            looked up <Time at={domain.checked_at} />
          </span>
        </span>
      }
      actions={<DomainActions domain={domain} />}
    >
      <div className="grid max-w-4xl gap-5">
        <StateNote domain={domain} />
        <DomainRecords domain={domain} />
        <DomainSettings key={domain.id} domain={domain} />
        <DkimKeys domain={domain} />
      </div>
    </Page>
  );
}

function StateNote({ domain }: { domain: Domain }) {
  const missing = domain.records.filter(({ required, status }) => required && status !== 'found');
  const records = missing.length === 1 ? 'One record is' : `${missing.length} records are`;
  switch (domain.status) {
    case 'pending':
      return (
        <Note tone="info" title={`${records} still to be found`}>
          <p>
            Publish what is shown below at your DNS provider. We look again by ourselves
            {domain.next_check_at && (
              <>
                {' '}
                <Time at={domain.next_check_at} />
              </>
            )}
            ; DNS may take a while to tell everybody.
          </p>
        </Note>
      );
    case 'degraded':
      return (
        <Note tone="warn" title="A record has vanished">
          <p>
            The domain still sends, but stops <Time at={domain.sending_stops_at} /> unless its
            records come back.
          </p>
        </Note>
      );
    case 'failed':
      return (
        <Note tone="bad" title="Sending has stopped">
          <p>Records were gone for too long. Publish them again; sending starts by itself.</p>
        </Note>
      );
    case 'verified':
      return null;
  }
}

function DomainActions({ domain }: { domain: Domain }) {
  const { api } = useHere();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const may = useMay();
  const params = { path: { id: domain.id } };
  const changed = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['domain'] }),
      queries.invalidateQueries({ queryKey: ['domains'] }),
    ]);
  };
  const checking = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/domains/{id}/verify', { params })),
    onSuccess: async (found) => {
      await changed();
      if (found.status === 'verified') tell(`${domain.name} is verified.`);
    },
    onError: tellProblem,
  });
  if (!may('write:domains')) return null;
  const rotate = () =>
    confirmFirst({
      title: 'Rotate the DKIM keys?',
      body: 'The keys published ahead start to sign, new ones take their place as the next, and new records appear here to publish. The old keys stay valid for mail that is under way.',
      verb: 'Rotate keys',
      run: async () => {
        await ask(api.POST('/api/v1/domains/{id}/rotate-dkim', { params }));
        await changed();
        tell('The keys are rotated. Publish the records of the next ones.');
      },
    });
  const remove = () =>
    confirmFirst({
      title: `Delete ${domain.name}?`,
      body: 'Its keys are destroyed and nothing can be sent from it any more, including what is still queued. Added again, it gets other records.',
      verb: 'Delete domain',
      typed: domain.name,
      run: async () => {
        await ask(api.DELETE('/api/v1/domains/{id}', { params }));
        await queries.invalidateQueries({ queryKey: ['domains'] });
        void navigate({ to: '/domains' });
        tell(`${domain.name} is deleted.`);
      },
    });
  return (
    <>
      <Button icon={RefreshCw} busy={checking.isPending} onClick={() => checking.mutate()}>
        Check again
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
        <MenuItem icon={RotateCw} onSelect={rotate}>
          Rotate DKIM keys
        </MenuItem>
        <MenuLine />
        <MenuItem icon={Trash2} danger onSelect={remove}>
          Delete domain
        </MenuItem>
      </Menu>
    </>
  );
}

const SLOTS: Record<string, string> = {
  current: 'signs now',
  next: 'published ahead',
  retired: 'retired',
};

function DkimKeys({ domain }: { domain: Domain }) {
  return (
    <Section title="DKIM keys" description="Every message is signed with the current keys.">
      <ul className="grid gap-2">
        {domain.dkim_keys.map((dkim) => (
          <li key={dkim.selector} className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
            <code className="font-mono text-xs break-all">{dkim.selector}</code>
            <Badge tone={dkim.slot === 'current' ? 'good' : 'plain'}>{SLOTS[dkim.slot]}</Badge>
            <span className="text-xs text-faint">
              {dkim.algorithm === 'rsa' ? 'RSA 2048' : 'Ed25519'}, made{' '}
              <Time at={dkim.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

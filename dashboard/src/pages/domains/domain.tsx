import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Ellipsis, RefreshCw, RotateCw, Trash2 } from 'lucide-react';
import { unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { useCan } from '../../session/session.ts';
import { DomainReceiving } from './domain-receiving.tsx';
import { DomainRecords } from './domain-records.tsx';
import { DomainSettings } from './domain-settings.tsx';
import type { Domain } from './domains.tsx';

const BACK = { to: '/domains', label: 'Domains' };
const POLL_MS = 10_000;

export function DomainPage() {
  const { id } = useParams({ from: '/inside/domains/$id' });
  const { api, key } = useApi();
  const query = useQuery({
    queryKey: key('domain', id),
    queryFn: () => unwrap(api.GET('/api/v1/domains/{id}', { params: { path: { id } } })),
    // Poll, so that newly published records show up without a reload.
    refetchInterval: ({ state }) => (isSetUp(state.data) ? false : POLL_MS),
  });
  if (query.isPending) return <SkeletonPage />;
  if (query.isLoadingError && toProblem(query.error).status === 404) {
    return <NotFound what="domain" back={BACK} />;
  }
  if (query.isLoadingError) {
    return (
      <Page title="Domain" back={BACK}>
        <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />
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
          {domain.trusted && <Badge>Trusted by operator</Badge>}
          {domain.checked_at === null ? (
            <span>Never checked</span>
          ) : (
            <span>
              Checked <Time at={domain.checked_at} />
            </span>
          )}
        </span>
      }
      actions={<DomainActions domain={domain} />}
    >
      <div className="grid max-w-6xl gap-5">
        <StatusAlert domain={domain} />
        <DomainRecords domain={domain} />
        <DomainReceiving key={`receiving ${domain.id}`} domain={domain} />
        <DomainSettings key={domain.id} domain={domain} />
        <DkimKeys domain={domain} />
      </div>
    </Page>
  );
}

/** Whether no record is waited for: neither those to send, nor the one to receive. */
function isSetUp(domain: Domain | undefined): boolean {
  return (
    domain?.status === 'verified' &&
    domain.records.every(({ purpose, status }) => purpose !== 'receiving' || status === 'found')
  );
}

function StatusAlert({ domain }: { domain: Domain }) {
  const needed = domain.records.filter(({ required, status }) => required && status !== 'found');
  const wrong = needed.filter(({ status }) => status === 'wrong').length;
  const unchecked = needed.filter(({ status }) => status === 'lookup_failed').length;
  const missing = needed.length - wrong - unchecked;
  const counts = [
    { count: missing, label: 'missing' },
    { count: wrong, label: 'wrong' },
    { count: unchecked, label: 'not checked' },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, label }, i) => `${i === 0 ? formatCount(count, 'record') : count} ${label}`)
    .join(', ');

  switch (domain.status) {
    case 'pending':
      return (
        <Alert
          tone="info"
          title={
            domain.checked_at === null
              ? `Add ${formatCount(needed.length, 'DNS record')} to verify this domain`
              : counts
          }
        >
          <p>
            {missing === 0 ? 'Correct' : wrong === 0 ? 'Add' : 'Add or correct'} the records below
            at your DNS provider. We’ll {domain.checked_at && 're'}check{' '}
            {domain.next_check_at ? <Time at={domain.next_check_at} upcoming /> : 'automatically'}.
            DNS changes can take a while to propagate.
          </p>
        </Alert>
      );
    case 'degraded':
      return (
        <Alert tone="warn" title={counts}>
          <p>
            The domain can still send, but will stop <Time at={domain.sending_stops_at} upcoming />{' '}
            unless its DNS is corrected.
          </p>
        </Alert>
      );
    case 'failed':
      return (
        <Alert tone="bad" title="Sending has stopped">
          <p>
            Required records were missing or wrong for too long. Correct them and sending resumes
            automatically.
          </p>
        </Alert>
      );
    case 'verified':
      return null;
  }
}

function DomainActions({ domain }: { domain: Domain }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const can = useCan();
  const params = { path: { id: domain.id } };
  const refresh = async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['domain'] }),
      queries.invalidateQueries({ queryKey: ['domains'] }),
    ]);
  };
  const checking = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/domains/{id}/verify', { params })),
    onSuccess: async (found) => {
      await refresh();
      if (found.status === 'verified') showToast(`${domain.name} verified.`);
    },
    onError: showErrorToast,
  });
  if (!can('write:domains')) return null;
  const rotate = () =>
    requestConfirmation({
      title: 'Rotate DKIM keys?',
      body: 'The next keys become active, and new next keys are created whose records you need to publish. The old keys stay valid for messages in transit.',
      confirmLabel: 'Rotate keys',
      run: async () => {
        await unwrap(api.POST('/api/v1/domains/{id}/rotate-dkim', { params }));
        await refresh();
        showToast('DKIM keys rotated. Publish the new DNS records.');
      },
    });
  const remove = () =>
    requestConfirmation({
      title: `Delete ${domain.name}?`,
      body: `Its DKIM keys are destroyed and queued messages from it fail. ${domain.receiving ? 'Mail to its addresses is rejected. ' : ''}If you add it again, its DNS records will be different.`,
      confirmLabel: 'Delete domain',
      typeToConfirm: domain.name,
      run: async () => {
        await unwrap(api.DELETE('/api/v1/domains/{id}', { params }));
        await queries.invalidateQueries({ queryKey: ['domains'] });
        void navigate({ to: '/domains' });
        showToast(`${domain.name} deleted.`);
      },
    });
  return (
    <>
      <Button icon={RefreshCw} busy={checking.isPending} onClick={() => checking.mutate()}>
        {domain.checked_at === null ? 'Check now' : 'Check again'}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
        <MenuItem icon={RotateCw} onSelect={rotate}>
          Rotate DKIM keys
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} danger onSelect={remove}>
          Delete domain
        </MenuItem>
      </Menu>
    </>
  );
}

const KEY_LABELS: Record<string, string> = {
  current: 'Active',
  next: 'Next',
  retired: 'Retired',
};

function DkimKeys({ domain }: { domain: Domain }) {
  return (
    <Section title="DKIM keys" description="Every message is signed with the active keys.">
      <ul className="grid gap-2">
        {domain.dkim_keys.map((dkim) => (
          <li key={dkim.selector} className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
            <code className="font-mono text-xs break-all">{dkim.selector}</code>
            <Badge tone={dkim.slot === 'current' ? 'good' : 'plain'}>{KEY_LABELS[dkim.slot]}</Badge>
            <span className="text-xs text-faint">
              {dkim.algorithm === 'rsa' ? 'RSA 2048' : 'Ed25519'}, created{' '}
              <Time at={dkim.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

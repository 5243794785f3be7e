import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Ban, Plus, SearchX, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast, showErrorToast } from '../../layout/toasts.tsx';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Select } from '../../components/field.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { Page } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useFormOpen, useCan } from '../../session/session.ts';
import { AddSuppressions } from './add-suppressions.tsx';

export type Suppression = Schema<'Suppression'>;
export type Reason = Suppression['reason'];

export const REASONS: Record<Reason, { label: string; tone: Tone }> = {
  hard_bounce: { label: 'hard bounce', tone: 'bad' },
  complaint: { label: 'complaint', tone: 'warn' },
  manual: { label: 'by hand', tone: 'plain' },
  unsubscribe: { label: 'unsubscribed', tone: 'info' },
};

export function SuppressionsPage() {
  const { q, reason, new: adding } = useSearch({ from: '/inside/suppressions' });
  const formOpen = useFormOpen(adding !== undefined, 'write:suppressions');
  const { api, key } = useApi();
  const mayWrite = useCan()('write:suppressions');
  const navigate = useNavigate();
  const list = usePaginatedQuery(key('suppressions', q, reason), (cursor) =>
    unwrap(
      api.GET('/api/v1/suppressions', {
        params: {
          query: {
            ...pageParams(cursor),
            ...(q ? { q } : {}),
            ...(reason ? { reason: reason as Reason } : {}),
          },
        },
      }),
    ),
  );
  const search = (next: { q?: string; reason?: string; new?: string }) =>
    void navigate({ to: '/suppressions', search: next, replace: true });
  const filters = { ...(q ? { q } : {}), ...(reason ? { reason } : {}) };
  return (
    <Page
      full
      title="Suppressions"
      description="Addresses and domains that are not written to. Hard bounces and complaints put them here by themselves."
      actions={
        mayWrite && (
          <Button kind="primary" icon={Plus} onClick={() => search({ ...filters, new: 'true' })}>
            Add
          </Button>
        )
      }
    >
      <search className="flex flex-wrap gap-2 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Beginning of an address or domain"
          value={q ?? ''}
          onChange={(text) => search({ ...filters, q: text })}
        />
        <div className="w-40">
          <Select
            aria-label="Reason"
            value={reason ?? ''}
            onChange={(event) => search({ ...filters, reason: event.target.value })}
          >
            <option value="">Any reason</option>
            {Object.entries(REASONS).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        </div>
      </search>
      {list.isPending ? (
        <SkeletonRows />
      ) : list.isLoadingError ? (
        <ErrorAlert
          error={list.error}
          className="mx-4 sm:mx-6"
          onRetry={() => void list.refetch()}
        />
      ) : list.rows.length === 0 ? (
        <NoSuppressions filtered={q !== undefined || reason !== undefined} />
      ) : (
        <>
          <SuppressionTable rows={list.rows} mayWrite={mayWrite} />
          <LoadMore {...list} />
        </>
      )}
      {formOpen && <AddSuppressions onClose={() => search(filters)} />}
    </Page>
  );
}

function SuppressionTable({ rows, mayWrite }: { rows: Suppression[]; mayWrite: boolean }) {
  const remove = useRemove();
  return (
    <Table label="Suppressions">
      <thead>
        <tr>
          <Th>Address</Th>
          <Th>Reason</Th>
          <Th later>Evidence</Th>
          <Th later>Ends</Th>
          <Th later>Since</Th>
          <Th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Tr key={row.id}>
            <Td className="font-medium break-all">{nameOf(row)}</Td>
            <Td>
              <Badge tone={REASONS[row.reason].tone}>{REASONS[row.reason].label}</Badge>
            </Td>
            <Td later className="max-w-96 text-soft">
              <Evidence suppression={row} />
            </Td>
            <Td later className="whitespace-nowrap text-soft">
              {row.expires_at ? <Time at={row.expires_at} /> : 'never'}
            </Td>
            <Td later className="text-soft">
              <Time at={row.created_at} />
            </Td>
            <Td className="w-px">
              {mayWrite && (
                <IconButton
                  icon={Trash2}
                  danger
                  label={`Remove ${nameOf(row)}`}
                  onClick={() => remove(row)}
                />
              )}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

export function nameOf({ email, domain, erased }: Suppression): string {
  if (email) return email;
  if (domain) return `everybody at ${domain}`;
  return erased ? 'an erased address' : '';
}

interface Evidence {
  message_id?: string;
  smtp?: Schema<'SmtpAnswer'>;
}

function Evidence({ suppression }: { suppression: Suppression }) {
  const { message_id, smtp } = (suppression.evidence ?? {}) as Evidence;
  const words = smtp
    ? [smtp.code, smtp.enhanced, smtp.text].filter(Boolean).join(' ')
    : suppression.note;
  if (!words && !message_id) return <span className="text-faint">none</span>;
  return (
    <span className="flex min-w-0 items-center gap-2">
      {words && (
        <span className={smtp ? 'truncate font-mono text-xs' : 'truncate'} title={words}>
          {words}
        </span>
      )}
      {message_id && (
        <Link
          to="/messages/$id"
          params={{ id: message_id }}
          className="shrink-0 text-xs font-medium text-accent-ink hover:underline"
        >
          message
        </Link>
      )}
    </span>
  );
}

function useRemove(): (row: Suppression) => void {
  const { api } = useApi();
  const queries = useQueryClient();
  return (row) =>
    requestConfirmation({
      title: `Write to ${nameOf(row)} again?`,
      body: (
        <div className="grid gap-2">
          <p>
            It is here because of {REASONS[row.reason].label}, since <Time at={row.created_at} />.
            Mail to addresses that bounce or complain hurts the delivery of everything else you
            send.
          </p>
          <div className="rounded-lg bg-sunken px-3 py-2">
            <Evidence suppression={row} />
          </div>
        </div>
      ),
      confirmLabel: 'Remove',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/suppressions/{id}', { params: { path: { id: row.id } } }));
        await queries.invalidateQueries({ queryKey: ['suppressions'] });
        showToast(`${nameOf(row)} may be written to again.`, {
          label: 'Undo',
          run: () => void putBack(row).catch(showErrorToast),
        });
      },
    });
  async function putBack(row: Suppression): Promise<void> {
    const { email, domain, reason, note, expires_at } = row;
    await unwrap(
      api.POST('/api/v1/suppressions', {
        body: { ...(email ? { email } : { domain: domain ?? '' }), reason, note, expires_at },
      }),
    );
    await queries.invalidateQueries({ queryKey: ['suppressions'] });
  }
}

function NoSuppressions({ filtered }: { filtered: boolean }) {
  const [origin] = useState(() => location.origin);
  if (filtered) {
    return (
      <EmptyState icon={SearchX} title="Nothing on the list fits">
        Whatever you look for may be written to.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={Ban}
      title="Nobody is suppressed"
      teach={
        <CodeBlock
          label="example"
          code={[
            `curl ${origin}/api/v1/suppressions \\`,
            `  -H 'Authorization: Bearer pr_…' \\`,
            `  -H 'Content-Type: application/json' \\`,
            `  -d '{"email":"jane@example.com","note":"asked us by phone"}'`,
          ].join('\n')}
        />
      }
    >
      When an address bounces for good or somebody complains, it appears here with the evidence, and
      is not written to again.
    </EmptyState>
  );
}

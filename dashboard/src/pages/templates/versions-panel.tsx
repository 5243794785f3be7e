import { useQuery, useQueryClient } from '@tanstack/react-query';
import { History } from 'lucide-react';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useCan } from '../../session/session.ts';
import { useActorName } from '../team/actor-name.ts';
import { type ContentKind, contentApi } from './content-api.ts';
import { TemplateDiff } from './template-diff.tsx';
import type { Draft } from './use-draft.ts';

export function VersionsPanel({ kind, draft }: { kind: ContentKind; draft: Draft }) {
  const { api, key } = useApi();
  const nameOf = useActorName();
  const canWrite = useCan()('write:templates');
  const republish = useRepublish(kind, draft);
  const [comparing, setComparing] = useState<number>();
  const list = usePaginatedQuery(key('template-versions', kind, draft.stored.key), (cursor) =>
    contentApi(api, kind).versions(draft.stored.key, pageParams(cursor)),
  );
  return (
    <PaginatedList
      list={list}
      placeholderRows={3}
      errorClassName=""
      empty={
        <EmptyState icon={History} title="Never published">
          Each time you publish, a permanent version is created. You can go back to any of them.
        </EmptyState>
      }
    >
      <ol className="divide-y divide-line rounded-xl border border-line">
        {list.rows.map((row) => (
          <li
            key={row.version}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2.5 text-sm"
          >
            <span className="font-medium">Version {row.version}</span>
            {row.current && <Badge tone="good">Published</Badge>}
            <span className="text-xs text-faint">
              <Time at={row.published_at} /> by {nameOf(row.published_by)}
            </span>
            <span className="ml-auto flex gap-1">
              {kind === 'template' && (
                <Button size="small" kind="quiet" onClick={() => setComparing(row.version)}>
                  Compare
                </Button>
              )}
              {canWrite && !row.current && (
                <Button size="small" kind="quiet" onClick={() => republish(row.version)}>
                  Republish
                </Button>
              )}
            </span>
            {row.note && <p className="w-full text-xs text-soft">{row.note}</p>}
          </li>
        ))}
      </ol>
      {comparing !== undefined && (
        <CompareDialog
          templateKey={draft.stored.key}
          version={comparing}
          onClose={() => setComparing(undefined)}
        />
      )}
    </PaginatedList>
  );
}

function useRepublish(kind: ContentKind, draft: Draft): (version: number) => void {
  const { api } = useApi();
  const queries = useQueryClient();
  const { key } = draft.stored;
  return (version) =>
    requestConfirmation({
      title: `Republish version ${version}?`,
      body: 'New messages use it in both modes. The draft is not changed.',
      confirmLabel: 'Republish',
      run: async () => {
        await contentApi(api, kind).publish(key, { version });
        draft.reload(await contentApi(api, kind).get(key));
        await queries.invalidateQueries({ queryKey: ['template-versions'] });
        showToast(`Version ${version} republished.`);
      },
    });
}

function CompareDialog({
  templateKey,
  version,
  onClose,
}: {
  templateKey: string;
  version: number;
  onClose: () => void;
}) {
  const { api, key } = useApi();
  const comparison = useQuery({
    queryKey: key('template-compare', templateKey, version),
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/templates/{key}/compare', {
          params: { path: { key: templateKey }, query: { from: String(version), to: 'draft' } },
        }),
      ),
    staleTime: 0,
  });
  return (
    <Dialog
      title={`Compare version ${version} with the draft`}
      description={`Red: version ${version}. Green: draft.`}
      onClose={onClose}
      wide
    >
      {comparison.isPending && <SkeletonRows rows={4} />}
      {comparison.isError && <ErrorAlert error={comparison.error} />}
      {comparison.data && <TemplateDiff comparison={comparison.data} />}
    </Dialog>
  );
}

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { History } from 'lucide-react';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { pageQuery, usePages } from '../../api/use-pages.ts';
import { confirmFirst } from '../../frame/confirm.tsx';
import { tell } from '../../frame/toasts.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';
import { useMay } from '../../session/session.ts';
import { useNameOf } from '../team/name-of.ts';
import { Changes } from './changes.tsx';
import { type ContentKind, contentApi } from './content-api.ts';
import type { Draft } from './use-draft.ts';

export function VersionsPanel({ kind, draft }: { kind: ContentKind; draft: Draft }) {
  const { api, key } = useHere();
  const nameOf = useNameOf();
  const mayWrite = useMay()('write:templates');
  const publishAgain = usePublishAgain(kind, draft);
  const [comparing, setComparing] = useState<number>();
  const list = usePages(key('template-versions', kind, draft.stored.key), (cursor) =>
    contentApi(api, kind).versions(draft.stored.key, pageQuery(cursor)),
  );
  if (list.isPending) return <SkeletonRows rows={3} />;
  if (list.isLoadingError) return <ProblemNote error={list.error} />;
  if (list.rows.length === 0) {
    return (
      <Empty icon={History} title="Never published">
        Each publication makes a version that never changes again. You can go back to any of them.
      </Empty>
    );
  }
  return (
    <>
      <ol className="divide-y divide-line rounded-xl border border-line">
        {list.rows.map((row) => (
          <li
            key={row.version}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2.5 text-sm"
          >
            <span className="font-medium">Version {row.version}</span>
            {row.current && <Badge tone="good">published</Badge>}
            <span className="text-xs text-faint">
              <Time at={row.published_at} /> by {nameOf(row.published_by)}
            </span>
            <span className="ml-auto flex gap-1">
              {kind === 'template' && (
                <Button size="small" kind="quiet" onClick={() => setComparing(row.version)}>
                  Compare
                </Button>
              )}
              {mayWrite && !row.current && (
                <Button size="small" kind="quiet" onClick={() => publishAgain(row.version)}>
                  Publish again
                </Button>
              )}
            </span>
            {row.note && <p className="w-full text-xs text-soft">{row.note}</p>}
          </li>
        ))}
      </ol>
      <LoadMore {...list} />
      {comparing !== undefined && (
        <CompareDialog
          templateKey={draft.stored.key}
          version={comparing}
          onClose={() => setComparing(undefined)}
        />
      )}
    </>
  );
}

function usePublishAgain(kind: ContentKind, draft: Draft): (version: number) => void {
  const { api } = useHere();
  const queries = useQueryClient();
  const { key } = draft.stored;
  return (version) =>
    confirmFirst({
      title: `Publish version ${version} again?`,
      body: 'Sends use it from now on, in both modes. The draft stays as it is.',
      verb: 'Publish again',
      run: async () => {
        await contentApi(api, kind).publish(key, { version });
        draft.reload(await contentApi(api, kind).get(key));
        await queries.invalidateQueries({ queryKey: ['template-versions'] });
        tell(`Version ${version} is published again.`);
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
  const { api, key } = useHere();
  const comparison = useQuery({
    queryKey: key('template-compare', templateKey, version),
    queryFn: () =>
      ask(
        api.GET('/api/v1/templates/{key}/compare', {
          params: { path: { key: templateKey }, query: { from: String(version), to: 'draft' } },
        }),
      ),
    staleTime: 0,
  });
  return (
    <Dialog
      title={`Version ${version} and the draft`}
      description="Red is what the version says, green what the draft says."
      onClose={onClose}
      wide
    >
      {comparison.isPending && <SkeletonRows rows={4} />}
      {comparison.isError && <ProblemNote error={comparison.error} />}
      {comparison.data && <Changes comparison={comparison.data} />}
    </Dialog>
  );
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { useActorName } from '../team/actor-name.ts';
import { type ContentKind, contentApi, type Finding, KINDS } from './content-api.ts';
import { TemplateDiff } from './template-diff.tsx';
import type { Draft } from './use-draft.ts';

/** Shows what publishing changes, then publishes. */
export function PublishDialog({
  kind,
  draft,
  errors,
  onClose,
}: {
  kind: ContentKind;
  draft: Draft;
  /** What has to be fixed first. */
  errors: readonly Finding[];
  onClose: () => void;
}) {
  const { api } = useApi();
  const queries = useQueryClient();
  const [note, setNote] = useState('');
  const { stored } = draft;
  const publishing = useMutation({
    mutationFn: async () => {
      const { etag } = await draft.saveNow();
      const content = contentApi(api, kind);
      const body = note.trim() ? { note: note.trim() } : {};
      const done = await content.publishIfMatch(stored.key, body, etag);
      draft.reload(await content.get(stored.key));
      return done;
    },
    onSuccess: async ({ version, touches }) => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['templates'] }),
        queries.invalidateQueries({ queryKey: ['template-versions'] }),
      ]);
      const also = touches.length > 0 ? ` ${formatCount(touches.length, 'template')} updated.` : '';
      showToast(`Version ${version} published.${also}`);
      onClose();
    },
    onError: async (error) => {
      if (isDraftChanged(error)) draft.reload(await contentApi(api, kind).get(stored.key));
    },
  });
  return (
    <Dialog
      title={`Publish ${stored.name}`}
      description={`Applies to all new messages in live and test mode. Published versions of a ${KINDS[kind].one} can’t be changed.`}
      onClose={onClose}
      wide
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          publishing.mutate();
        }}
      >
        {kind === 'template' && stored.published_version !== null && <Summary draft={draft} />}
        <Field label="Release note" optional>
          <TextInput
            value={note}
            onChange={(event) => setNote(event.target.value)}
            maxLength={500}
          />
        </Field>
        {errors.length > 0 && (
          <Alert tone="bad" title="Fix these errors before publishing">
            <ul className="list-disc pl-4">
              {errors.map(({ code, field, line, column, message }) => (
                <li key={`${code} ${field} ${line}:${column}`}>
                  {message}{' '}
                  <span className="text-faint">
                    ({field}, line {line})
                  </span>
                </li>
              ))}
            </ul>
          </Alert>
        )}
        {publishing.isError && errors.length === 0 && (
          <PublishError error={publishing.error} draft={draft} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={publishing.isPending}
            disabled={errors.length > 0}
          >
            Publish
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function isDraftChanged(error: unknown): boolean {
  return toProblem(error).code === 'draft_changed';
}

function PublishError({ error, draft }: { error: unknown; draft: Draft }) {
  const nameOf = useActorName();
  if (!isDraftChanged(error)) return <ErrorAlert error={error} />;
  if (draft.conflict) return <Alert tone="warn" title={RESOLVE_FIRST} />;
  return (
    <Alert tone="warn" title={`Changed by ${nameOf(draft.stored.updated_by)}`}>
      Nothing was published. Review the changes, then publish again.
    </Alert>
  );
}

const RESOLVE_FIRST = 'Someone else changed this draft. Resolve the conflict first.';

function Summary({ draft }: { draft: Draft }) {
  const { api, key } = useApi();
  const { saveNow, stored } = draft;
  // Save pending edits first, so that they are part of the comparison.
  const save = useRef(saveNow);
  save.current = saveNow;
  const [ready, setReady] = useState(false);
  const [unsaved, setUnsaved] = useState<unknown>();
  useEffect(() => {
    save.current().then(() => setReady(true), setUnsaved);
  }, []);
  const comparison = useQuery({
    queryKey: key('template-compare', stored.key, 'published', draft.saves),
    queryFn: () =>
      unwrap(api.GET('/api/v1/templates/{key}/compare', { params: { path: { key: stored.key } } })),
    enabled: ready,
    staleTime: 0,
  });
  if (unsaved !== undefined) return <PublishError error={unsaved} draft={draft} />;
  if (comparison.isError) return <ErrorAlert error={comparison.error} />;
  if (!comparison.data) return <SkeletonRows rows={3} />;
  return <TemplateDiff comparison={comparison.data} />;
}

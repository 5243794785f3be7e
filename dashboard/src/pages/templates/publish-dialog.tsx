import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { toProblem } from '../../api/problem.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { formatCount } from '../../lib/format.ts';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { useActorName } from '../team/actor-name.ts';
import { TemplateDiff } from './template-diff.tsx';
import { type ContentKind, contentApi, KINDS } from './content-api.ts';
import type { Draft } from './use-draft.ts';

/** What would change for everybody, before it does. */
export function PublishDialog({
  kind,
  draft,
  onClose,
}: {
  kind: ContentKind;
  draft: Draft;
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
      const told = note.trim() ? { note: note.trim() } : {};
      const done = await content.publishSeen(stored.key, told, etag);
      draft.reload(await content.get(stored.key));
      return done;
    },
    onSuccess: async ({ version, touches }) => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['templates'] }),
        queries.invalidateQueries({ queryKey: ['template-versions'] }),
      ]);
      const also =
        touches.length > 0
          ? ` ${formatCount(touches.length, 'template goes', 'templates go')} out changed.`
          : '';
      showToast(`Version ${version} is published.${also}`);
      onClose();
    },
    onError: async (error) => {
      if (isChanged(error)) draft.reload(await contentApi(api, kind).get(stored.key));
    },
  });
  return (
    <Dialog
      title={`Publish ${stored.name}`}
      description={`Sends that are accepted from now on use it, in live and in test mode. The ${KINDS[kind].one} gets a version number and that version never changes.`}
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
        <Field label="Note" optional hint="Why it changed, for those who come later.">
          <TextInput
            value={note}
            onChange={(event) => setNote(event.target.value)}
            maxLength={500}
          />
        </Field>
        {publishing.isError && <Refused error={publishing.error} draft={draft} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={publishing.isPending}>
            Publish
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function isChanged(error: unknown): boolean {
  return toProblem(error).code === 'draft_changed';
}

function Refused({ error, draft }: { error: unknown; draft: Draft }) {
  const nameOf = useActorName();
  if (!isChanged(error)) return <ErrorAlert error={error} />;
  if (draft.conflict) return <Alert tone="warn" title={CHOOSE_FIRST} />;
  return (
    <Alert tone="warn" title={`Changed meanwhile by ${nameOf(draft.stored.updated_by)}`}>
      Nothing was published. Look at it once more, then publish.
    </Alert>
  );
}

const CHOOSE_FIRST = 'Somebody else wrote in the same place: choose between theirs and yours first';

function Summary({ draft }: { draft: Draft }) {
  const { api, key } = useApi();
  const { saveNow, stored } = draft;
  // What was typed a moment ago belongs to what is compared.
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
  if (unsaved !== undefined) return <Refused error={unsaved} draft={draft} />;
  if (comparison.isError) return <ErrorAlert error={comparison.error} />;
  if (!comparison.data) return <SkeletonRows rows={3} />;
  return <TemplateDiff comparison={comparison.data} />;
}

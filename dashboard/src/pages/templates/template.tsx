import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft, Ellipsis, Send, Trash2, UploadCloud } from 'lucide-react';
import { useEffect, useState } from 'react';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Page } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { classNames } from '../../lib/class-names.ts';
import { useCan } from '../../session/session.ts';
import { ConflictAlert } from './conflict-alert.tsx';
import { type ContentKind, contentApi, isKind, KINDS, type Template } from './content-api.ts';
import { ContentEditor } from './content-editor.tsx';
import { PublishDialog } from './publish-dialog.tsx';
import { SidePanels } from './side-panels.tsx';
import { PublishedBadge } from './templates.tsx';
import { TestSendDialog } from './test-send-dialog.tsx';
import { type Checks, useChecks } from './use-checks.ts';
import { type Draft, useDraft } from './use-draft.ts';

const BACK = { to: '/templates', label: 'Templates' };

export function TemplatePage() {
  const params = useParams({ from: '/inside/templates/$kind/$key' });
  const kind = isKind(params.kind) ? params.kind : 'template';
  const { api, selection } = useApi();
  const query = useQuery({
    // Shared by both modes, so that switching modes does not interrupt editing.
    queryKey: ['template', selection.workspaceId, 'both', kind, params.key],
    queryFn: () => contentApi(api, kind).get(params.key),
    // While editing, local state wins; on window focus, fetch changes made elsewhere.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: 'always',
  });
  if (query.isPending) return <SkeletonPage />;
  if (query.isLoadingError && toProblem(query.error).status === 404) {
    return <NotFound what={KINDS[kind].one} back={BACK} />;
  }
  if (query.isLoadingError) {
    return (
      <Page title="Template" back={BACK}>
        <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  return <Editor key={`${kind} ${params.key}`} kind={kind} loaded={query.data} />;
}

function Editor({ kind, loaded }: { kind: ContentKind; loaded: Template }) {
  const draft = useDraft(kind, loaded);
  const checks = useChecks(kind, draft);
  const [locale, setLocale] = useState<string | null>(null);
  const [pane, setPane] = useState<'write' | 'preview'>('write');
  useEffect(() => {
    document.title = `${draft.fields.name} · Postrider`;
  }, [draft.fields.name]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <EditorHeader kind={kind} draft={draft} checks={checks} locale={locale} />
      {draft.conflict && <ConflictAlert conflict={draft.conflict} />}
      {draft.state === 'failed' && !draft.conflict && (
        <ErrorAlert
          error={draft.error}
          onRetry={() => void draft.saveNow().catch(() => {})}
          className="mx-4 mb-3 sm:mx-6"
        />
      )}
      <fieldset className="flex gap-1 border-t border-line px-4 py-2 lg:hidden">
        <legend className="sr-only">View</legend>
        {(['write', 'preview'] as const).map((value) => (
          <button
            key={value}
            type="button"
            aria-pressed={pane === value}
            onClick={() => setPane(value)}
            className={classNames(
              'flex-1 rounded-md py-1 text-sm font-medium',
              pane === value ? 'bg-accent-wash text-accent-ink' : 'text-soft',
            )}
          >
            {value === 'write' ? 'Edit' : 'Preview'}
          </button>
        ))}
      </fieldset>
      <div className="flex min-h-0 flex-1 border-t border-line">
        <div
          className={classNames(
            'min-h-0 min-w-0 flex-1 flex-col lg:flex lg:border-r lg:border-line',
            pane === 'write' ? 'flex' : 'hidden',
          )}
        >
          <ContentEditor
            kind={kind}
            draft={draft}
            checks={checks}
            locale={locale}
            onLocale={setLocale}
          />
        </div>
        <div
          data-scroller
          className={classNames(
            'min-h-0 min-w-0 flex-1 overflow-y-auto lg:block',
            pane === 'preview' ? 'block' : 'hidden',
          )}
        >
          <SidePanels kind={kind} draft={draft} checks={checks} locale={locale} />
        </div>
      </div>
      {draft.leaving && <DiscardDraftDialog error={draft.error} {...draft.leaving} />}
    </div>
  );
}

function DiscardDraftDialog({
  error,
  stay,
  leave,
}: {
  error: unknown;
  stay: () => void;
  leave: () => void;
}) {
  return (
    <Dialog
      title="Discard unsaved changes?"
      description="Your latest changes couldn’t be saved and will be lost."
      onClose={stay}
    >
      <ErrorAlert error={error} />
      <DialogButtons>
        <Button kind="danger" onClick={leave}>
          Discard changes
        </Button>
        <Button data-first-focus onClick={stay}>
          Keep editing
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

const STATES = {
  saved: 'Saved',
  waiting: 'Saving…',
  saving: 'Saving…',
  failed: 'Not saved',
} as const;

function EditorHeader({
  kind,
  draft,
  checks,
  locale,
}: {
  kind: ContentKind;
  draft: Draft;
  checks: Checks;
  locale: string | null;
}) {
  const canWrite = useCan()('write:templates');
  const canSend = useCan()('send:transactional');
  const [open, setOpen] = useState<'publish' | 'test'>();
  const { stored, fields, state } = draft;
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 pt-4 pb-3 sm:px-6">
      <div className="min-w-0 flex-1 basis-40">
        <Link
          to="/templates"
          search={{ kind }}
          className="-ml-1 mb-0.5 inline-flex items-center gap-0.5 rounded text-xs text-faint hover:text-ink"
        >
          <ChevronLeft className="size-3.5" aria-hidden />
          {KINDS[kind].many}
        </Link>
        <div className="flex flex-wrap items-center gap-2">
          <h1 className="sr-only">{fields.name}</h1>
          <input
            aria-label="Name"
            value={fields.name}
            readOnly={!canWrite}
            onChange={(event) => draft.set({ name: event.target.value })}
            className="-mx-1 max-w-full field-sizing-content rounded bg-transparent px-1 text-xl font-semibold tracking-tight hover:bg-sunken"
          />
          <code className="min-w-0 font-mono text-xs break-words text-faint">{stored.key}</code>
          <PublishedBadge template={stored} />
          <span
            role="status"
            className={classNames('text-xs', state === 'failed' ? 'text-bad' : 'text-faint')}
          >
            {STATES[state]}
          </span>
        </div>
      </div>
      <div className="flex items-center gap-2 self-start">
        {kind === 'template' && canSend && (
          <Button icon={Send} onClick={() => setOpen('test')}>
            <span className="max-sm:sr-only">Send test</span>
          </Button>
        )}
        {canWrite && (
          <>
            <Button
              kind="primary"
              icon={UploadCloud}
              disabled={!stored.has_unpublished_changes && stored.published_version !== null}
              onClick={() => setOpen('publish')}
            >
              Publish
            </Button>
            <DeleteMenu kind={kind} stored={stored} />
          </>
        )}
      </div>
      {open === 'publish' && (
        <PublishDialog
          kind={kind}
          draft={draft}
          errors={checks.errors}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'test' && (
        <TestSendDialog draft={draft} locale={locale} onClose={() => setOpen(undefined)} />
      )}
    </header>
  );
}

function DeleteMenu({ kind, stored }: { kind: ContentKind; stored: Template }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = () =>
    requestConfirmation({
      title: `Delete ${stored.name}?`,
      body: `Requests that use ${stored.key} will fail. All versions are deleted too.`,
      confirmLabel: `Delete ${KINDS[kind].one}`,
      typeToConfirm: stored.key,
      run: async () => {
        await contentApi(api, kind).remove(stored.key);
        await queries.invalidateQueries({ queryKey: ['templates'] });
        void navigate({ to: '/templates', search: { kind } });
        showToast(`${stored.name} deleted.`);
      },
    });
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label="More actions" className="size-8" />}>
      <MenuItem icon={Trash2} danger onSelect={remove}>
        Delete
      </MenuItem>
    </Menu>
  );
}

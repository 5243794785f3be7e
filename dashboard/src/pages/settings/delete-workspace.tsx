import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { api, fetchRaw, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { dateAndTime } from '../../components/time.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { downloadFile } from '../../lib/download-file.ts';
import type { Mode } from '../../session/selection.ts';
import { ME_QUERY_KEY, useWorkspace } from '../../session/session.ts';

/** Deletes the workspace, or restores it until the deletion starts. Only for owners. */
export function WorkspaceDeletion() {
  const { role, deletion } = useWorkspace();
  const [open, setOpen] = useState(false);
  if (role !== 'owner') return null;
  if (deletion) return <Restore deleteAt={deletion.delete_at} />;
  return (
    <Section
      title="Delete workspace"
      description="Deletes all its messages, contacts, templates, domains, keys and statistics. You can restore it for a few days."
    >
      <Button kind="danger-quiet" onClick={() => setOpen(true)}>
        Delete workspace
      </Button>
      {open && <DeleteDialog onClose={() => setOpen(false)} />}
    </Section>
  );
}

function DeleteDialog({ onClose }: { onClose: () => void }) {
  const { id, name } = useWorkspace();
  const queries = useQueryClient();
  const [typed, setTyped] = useState('');
  const deleting = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/workspaces/{id}/deletion', {
          params: { path: { id } },
          body: { name },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      onClose();
    },
  });
  return (
    <Dialog title={`Delete ${name}?`} onClose={onClose} skipDiscardCheck>
      <DialogForm
        saving={deleting}
        submitLabel="Delete workspace"
        danger
        disabled={typed.trim() !== name.trim()}
        onClose={onClose}
      >
        <p className="text-sm text-soft">
          Live mail stops now. Until the deletion starts, you can read, export and restore
          everything. Members who are in no other workspace lose their accounts.
        </p>
        <Exports />
        <Field
          label={
            <>
              Type <code className="font-mono font-semibold">{name}</code> to confirm{' '}
            </>
          }
        >
          <TextInput
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            data-first-focus
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

const LISTS = {
  messages: 'Messages',
  events: 'Events',
  contacts: 'Contacts',
  suppressions: 'Suppressions',
};

/** Each list in both modes. */
function Exports() {
  const { id: workspaceId } = useWorkspace();
  const [busy, setBusy] = useState<string>();
  const download = async (list: string, mode: Mode) => {
    const name = `${list}-${mode}.ndjson`;
    setBusy(name);
    try {
      const path = `/api/v1/${list}/export?format=ndjson`;
      const response = await fetchRaw({ workspaceId, mode }, path);
      downloadFile(await response.blob(), name);
    } catch (error) {
      showErrorToast(error);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <fieldset className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-2 gap-y-1.5 text-sm">
      <legend className="mb-2 font-medium">Export first (NDJSON)</legend>
      {Object.entries(LISTS).map(([list, label]) => (
        <div key={list} className="contents">
          <span>{label}</span>
          {(['live', 'test'] as const).map((mode) => (
            <Button
              key={mode}
              size="small"
              icon={Download}
              aria-label={`Export ${mode} ${list}`}
              busy={busy === `${list}-${mode}.ndjson`}
              onClick={() => void download(list, mode)}
            >
              {mode === 'live' ? 'Live' : 'Test'}
            </Button>
          ))}
        </div>
      ))}
    </fieldset>
  );
}

function Restore({ deleteAt }: { deleteAt: string }) {
  const restoring = useRestoreWorkspace();
  return (
    <Section title="Delete workspace">
      <p className="mb-3 text-sm text-soft">
        This workspace will be deleted after {dateAndTime(deleteAt)}. Until then live mail is held.
      </p>
      {restoring.isError && <ErrorAlert error={restoring.error} className="mb-3" />}
      <Button kind="primary" busy={restoring.isPending} onClick={() => restoring.mutate()}>
        Restore workspace
      </Button>
    </Section>
  );
}

function useRestoreWorkspace() {
  const { id } = useWorkspace();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.DELETE('/api/v1/workspaces/{id}/deletion', { params: { path: { id } } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ME_QUERY_KEY });
      showToast('Workspace restored.');
    },
  });
}

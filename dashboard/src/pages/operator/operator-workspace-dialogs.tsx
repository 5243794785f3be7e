import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm, NameDialog } from '../../components/dialog-form.tsx';
import { Field, Select, TextInput } from '../../components/field.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { InviteDialog } from '../team/invite.tsx';
import { ROLES, type Role } from '../team/roles.ts';
import { useOperatorMutation, type WorkspaceDialogProps } from './operator-changes.ts';
import { useOperatorApi } from './operator-session.ts';

export function Suspend({ id, onClose }: WorkspaceDialogProps) {
  const api = useOperatorApi();
  const [reason, setReason] = useState('');
  const saving = useOperatorMutation(
    () =>
      unwrap(
        api.POST('/api/v1/operator/workspaces/{id}/suspension', {
          params: { path: { id } },
          body: { reason: reason.trim() },
        }),
      ),
    () => {
      showToast('Workspace suspended.');
      onClose();
    },
  );
  return (
    <Dialog
      title="Suspend workspace"
      description="Live sends are rejected and queued mail is held. Everything else still works."
      onClose={onClose}
    >
      <DialogForm saving={saving} fields={['/reason']} submitLabel="Suspend" onClose={onClose}>
        <Field
          label="Reason"
          hint="Shown to the members of the workspace."
          error={fieldError(saving.error, '/reason')}
        >
          <TextInput
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            placeholder="Unpaid invoice"
            required
            maxLength={500}
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

const QUOTA_FIELDS = [
  ['messages_per_hour', 'Messages per hour'],
  ['messages_per_day', 'Messages per day'],
  ['messages_per_month', 'Messages per month'],
  ['recipients_per_message', 'Recipients per message'],
  ['contacts', 'Contacts'],
  ['content_bytes', 'Content (bytes)'],
  ['requests_per_second', 'Requests per second'],
] as const;

type Quotas = Schema<'WorkspaceQuotas'>;

export function EditQuotas({ id, onClose }: WorkspaceDialogProps) {
  const api = useOperatorApi();
  const quotas = useQuery({
    queryKey: ['operator', 'quotas', id],
    queryFn: () =>
      unwrap(api.GET('/api/v1/operator/workspaces/{id}/quotas', { params: { path: { id } } })),
    // The form starts with the present quotas, never with those of an earlier visit.
    gcTime: 0,
  });
  return (
    <Dialog
      title="Edit quotas"
      description="Empty fields are not limited. Changes apply on every node within a second."
      onClose={onClose}
    >
      {quotas.isError && <ErrorAlert error={quotas.error} />}
      {quotas.data && <QuotasForm id={id} quotas={quotas.data} onClose={onClose} />}
    </Dialog>
  );
}

function QuotasForm({ id, quotas, onClose }: WorkspaceDialogProps & { quotas: Quotas }) {
  const api = useOperatorApi();
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(QUOTA_FIELDS.map(([name]) => [name, String(quotas[name] ?? '')])),
  );
  const saving = useOperatorMutation(
    () => {
      const limits = QUOTA_FIELDS.flatMap(([name]) => {
        const text = texts[name]?.trim() ?? '';
        return text === '' ? [] : [[name, Number(text)]];
      });
      const body = { ...Object.fromEntries(limits), warn_at_percent: quotas.warn_at_percent };
      return unwrap(
        api.PUT('/api/v1/operator/workspaces/{id}/quotas', { params: { path: { id } }, body }),
      );
    },
    () => {
      showToast('Quotas saved.');
      onClose();
    },
  );
  const fields = QUOTA_FIELDS.map(([name]) => `/${name}`);
  return (
    <DialogForm saving={saving} fields={fields} submitLabel="Save" onClose={onClose}>
      <div className="grid gap-4 sm:grid-cols-2">
        {QUOTA_FIELDS.map(([name, label]) => (
          <Field key={name} label={label} optional error={fieldError(saving.error, `/${name}`)}>
            <TextInput
              type="number"
              min={0}
              placeholder="No limit"
              value={texts[name]}
              onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
            />
          </Field>
        ))}
      </div>
    </DialogForm>
  );
}

export function RenameWorkspace({
  id,
  name: current,
  onClose,
}: WorkspaceDialogProps & { name: string }) {
  const api = useOperatorApi();
  const queries = useQueryClient();
  const rename = async (name: string) => {
    const params = { path: { id } };
    await unwrap(api.PATCH('/api/v1/operator/workspaces/{id}', { params, body: { name } }));
    await queries.invalidateQueries({ queryKey: ['operator'] });
    showToast('Workspace renamed.');
    onClose();
  };
  return (
    <NameDialog
      title="Rename workspace"
      name={current}
      submitLabel="Rename"
      onSubmit={rename}
      onClose={onClose}
    />
  );
}

export function InviteToWorkspace({ id, onClose }: WorkspaceDialogProps) {
  const api = useOperatorApi();
  const queries = useQueryClient();
  const invite = async (body: { email: string; role: Role }) => {
    const params = { path: { id } };
    const invitation = await unwrap(
      api.POST('/api/v1/operator/workspaces/{id}/invitations', { params, body }),
    );
    await queries.invalidateQueries({ queryKey: ['operator'] });
    return invitation;
  };
  return <InviteDialog roles={ROLES} firstRole="owner" invite={invite} onClose={onClose} />;
}

export function CreateFirstKey({ id, onClose }: WorkspaceDialogProps) {
  const api = useOperatorApi();
  const [name, setName] = useState('');
  const [mode, setMode] = useState<'live' | 'test'>('live');
  const saving = useOperatorMutation(
    () =>
      unwrap(
        api.POST('/api/v1/operator/workspaces/{id}/api-keys', {
          params: { path: { id } },
          body: { name: name.trim(), mode },
        }),
      ),
    () => {},
  );
  if (saving.data) {
    return (
      <Dialog title="API key created" onClose={onClose} persistent>
        <div className="grid gap-4">
          <p className="text-sm text-soft">
            Copy the key now and pass it on; it is not shown again. It can do everything in this
            workspace.
          </p>
          <OneTimeSecret secret={saving.data.token} copy="Copy key" />
          <DialogButtons>
            <Button kind="primary" onClick={onClose}>
              Done
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Create API key"
      description="A key with all scopes of its mode. It can create further keys."
      onClose={onClose}
    >
      <DialogForm saving={saving} fields={['/name']} submitLabel="Create" onClose={onClose}>
        <Field label="Name" error={fieldError(saving.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="First key"
            required
            maxLength={100}
          />
        </Field>
        <Field label="Mode">
          <Select value={mode} onChange={(event) => setMode(event.target.value as 'live' | 'test')}>
            <option value="live">Live</option>
            <option value="test">Test</option>
          </Select>
        </Field>
      </DialogForm>
    </Dialog>
  );
}

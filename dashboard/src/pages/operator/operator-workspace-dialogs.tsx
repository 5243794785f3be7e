import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm, NameDialog } from '../../components/dialog-form.tsx';
import { Field, RadioCards, Select, TextInput } from '../../components/field.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { localTime } from '../../components/time.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { InvitationLinkDialog } from '../team/invite.tsx';
import { ROLES, type Role } from '../team/roles.ts';
import { useOperatorApi } from './operator-session.ts';

interface DialogProps {
  id: string;
  onClose: () => void;
}

/** A form in a dialog whose result changes what the operator pages show. */
function useOperatorMutation<T>(change: () => Promise<T>, onSuccess: (result: T) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (result) => {
      await queries.invalidateQueries({ queryKey: ['operator'] });
      onSuccess(result);
    },
  });
}

export function Suspend({ id, onClose }: DialogProps) {
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

export function EditQuotas({ id, onClose }: DialogProps) {
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

function QuotasForm({ id, quotas, onClose }: DialogProps & { quotas: Quotas }) {
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

export function RenameWorkspace({ id, name: current, onClose }: DialogProps & { name: string }) {
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

const THRESHOLD_FIELDS = [
  ['slow_bounce_percent', 'Slow down at bounces of (%)'],
  ['pause_bounce_percent', 'Pause at bounces of (%)'],
  ['slow_complaint_percent', 'Slow down at complaints of (%)'],
  ['pause_complaint_percent', 'Pause at complaints of (%)'],
] as const;

/** Empty fields are those of the server; a probation that was set for the workspace is kept. */
export function EditBrake({
  id,
  brake: { policy, thresholds },
  onClose,
}: DialogProps & { brake: Schema<'WorkspaceBrake'> }) {
  const api = useOperatorApi();
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(THRESHOLD_FIELDS.map(([name]) => [name, String(policy[name] ?? '')])),
  );
  const saving = useOperatorMutation(
    () => {
      const own = THRESHOLD_FIELDS.flatMap(([name]) => {
        const text = texts[name]?.trim() ?? '';
        return text === '' ? [] : [[name, Number(text)]];
      });
      const { probation_ends_at } = policy;
      return unwrap(
        api.PUT('/api/v1/operator/workspaces/{id}/brake', {
          params: { path: { id } },
          body: { ...Object.fromEntries(own), probation_ends_at },
        }),
      );
    },
    () => {
      showToast('Thresholds saved.');
      onClose();
    },
  );
  const fields = THRESHOLD_FIELDS.map(([name]) => `/${name}`);
  return (
    <Dialog
      title="Edit brake thresholds"
      description="Empty fields are as set for the server, and 0 is never. Changes apply within a minute."
      onClose={onClose}
    >
      <DialogForm saving={saving} fields={fields} submitLabel="Save" onClose={onClose}>
        <div className="grid gap-4 sm:grid-cols-2">
          {THRESHOLD_FIELDS.map(([name, label]) => (
            <Field key={name} label={label} optional error={fieldError(saving.error, `/${name}`)}>
              <TextInput
                type="number"
                min={0}
                max={100}
                step="any"
                placeholder={policy[name] === null ? String(thresholds[name]) : ''}
                value={texts[name]}
                onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
              />
            </Field>
          ))}
        </div>
      </DialogForm>
    </Dialog>
  );
}

/** Thresholds that were set for the workspace are kept. */
export function EditProbation({
  id,
  brake: { policy, probation },
  onClose,
}: DialogProps & { brake: Schema<'WorkspaceBrake'> }) {
  const api = useOperatorApi();
  const [date, setDate] = useState(probation ? localTime(probation.ends_at).slice(0, 10) : '');
  const saving = useOperatorMutation(
    () =>
      unwrap(
        api.PUT('/api/v1/operator/workspaces/{id}/brake', {
          params: { path: { id } },
          // The whole day, in the browser's time zone.
          body: { ...policy, probation_ends_at: new Date(`${date}T23:59:59`).toISOString() },
        }),
      ),
    () => {
      showToast('Probation saved.');
      onClose();
    },
  );
  return (
    <Dialog
      title={probation ? 'Change the end of the probation' : 'Put on probation'}
      description="Until the end of this day, the workspace can send only a few live messages per hour."
      onClose={onClose}
    >
      <DialogForm
        saving={saving}
        fields={['/probation_ends_at']}
        submitLabel="Save"
        onClose={onClose}
      >
        <Field label="Last day" error={fieldError(saving.error, '/probation_ends_at')}>
          <TextInput
            type="date"
            min={localTime(new Date().toISOString()).slice(0, 10)}
            value={date}
            onChange={(event) => setDate(event.target.value)}
            required
          />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

export function InviteToWorkspace({ id, onClose }: DialogProps) {
  const api = useOperatorApi();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('owner');
  const saving = useOperatorMutation(
    () =>
      unwrap(
        api.POST('/api/v1/operator/workspaces/{id}/invitations', {
          params: { path: { id } },
          body: { email: email.trim(), role },
        }),
      ),
    (invitation) => {
      if (!invitation.mailed) return;
      showToast(`Invitation sent to ${invitation.email}.`);
      onClose();
    },
  );
  const link = saving.data?.link;
  if (link) {
    return <InvitationLinkDialog email={email} link={link} mailed={false} onClose={onClose} />;
  }
  return (
    <Dialog title="Invite member" onClose={onClose}>
      <DialogForm saving={saving} fields={['/email']} submitLabel="Invite" onClose={onClose}>
        <Field label="Email" error={fieldError(saving.error, '/email')}>
          <TextInput
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <RadioCards
          legend="Role"
          value={role}
          onChange={setRole}
          options={ROLES.map((one) => ({ value: one.role, label: one.label, hint: one.hint }))}
        />
      </DialogForm>
    </Dialog>
  );
}

export function CreateFirstKey({ id, onClose }: DialogProps) {
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
      description="A key with all scopes of its mode, with which the workspace can create others."
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

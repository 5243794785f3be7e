import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { apiFor, type Schema, unwrap } from '../../api/client.ts';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { DEFAULT_GRACE_SECONDS, GracePeriodField } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { rememberTestKey } from './example-key.tsx';
import { type KeyFields, KeyForm } from './key-form.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { isAvailable, PRESETS, type Scope } from './scopes.ts';

export type ApiKey = Schema<'ApiKey'>;

const FIELDS = ['/name', '/expires_at'];

export function CreateKey({ onClose }: { onClose: () => void }) {
  const selection = useSelection();
  const queries = useQueryClient();
  const can = useCan();
  const [fields, setFields] = useState<KeyFields>({
    name: '',
    mode: selection.mode,
    scopes: PRESETS.app.scopes.filter((scope) => can(scope)),
    allowed_domains: [],
    allowed_ips: [],
    allowed_streams: [],
    expires_at: null,
  });
  const scopes = fields.scopes.filter((scope) => isAvailable(scope, fields.mode));
  const creating = useMutation({
    // Sent in the key's own mode, so that a live key is never created in test mode by accident.
    mutationFn: () =>
      unwrap(
        apiFor({ ...selection, mode: fields.mode }).POST('/api/v1/api-keys', {
          body: { ...fields, scopes },
        }),
      ),
    onSuccess: (key) => {
      rememberTestKey(selection.workspaceId, key);
      return queries.invalidateQueries({ queryKey: ['api-keys'] });
    },
  });
  if (creating.data) {
    return <NewKeyDialog title={creating.data.name} apiKey={creating.data} onClose={onClose} />;
  }
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <DialogForm
        saving={creating}
        fields={FIELDS}
        submitLabel="Create key"
        disabled={scopes.length === 0}
        onClose={onClose}
      >
        <KeyForm value={fields} onChange={setFields} error={creating.error} />
      </DialogForm>
    </Dialog>
  );
}

export function EditKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const selection = useSelection();
  const queries = useQueryClient();
  const [fields, setFields] = useState<KeyFields>({
    name: apiKey.name,
    mode: apiKey.mode,
    scopes: apiKey.scopes as Scope[],
    allowed_domains: apiKey.allowed_domains,
    allowed_ips: apiKey.allowed_ips,
    allowed_streams: apiKey.allowed_streams,
    expires_at: apiKey.expires_at,
  });
  const changing = useMutation({
    mutationFn: () => {
      const { mode: _, ...body } = fields;
      return unwrap(
        apiFor({ ...selection, mode: apiKey.mode }).PATCH('/api/v1/api-keys/{id}', {
          params: { path: { id: apiKey.id } },
          body,
        }),
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['api-keys'] });
      showToast('API key updated.');
      onClose();
    },
  });
  return (
    <Dialog title={`Edit ${apiKey.name}`} onClose={onClose}>
      <DialogForm
        saving={changing}
        fields={FIELDS}
        submitLabel="Save"
        disabled={fields.scopes.length === 0}
        onClose={onClose}
      >
        <KeyForm value={fields} onChange={setFields} error={changing.error} existing />
      </DialogForm>
    </Dialog>
  );
}

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const selection = useSelection();
  const queries = useQueryClient();
  const [grace, setGrace] = useState(DEFAULT_GRACE_SECONDS);
  const rotating = useMutation({
    mutationFn: () =>
      unwrap(
        apiFor({ ...selection, mode: apiKey.mode }).POST('/api/v1/api-keys/{id}/rotate', {
          params: { path: { id: apiKey.id } },
          body: { grace_seconds: grace },
        }),
      ),
    onSuccess: (key) => {
      rememberTestKey(selection.workspaceId, key);
      return queries.invalidateQueries({ queryKey: ['api-keys'] });
    },
  });
  if (rotating.data) {
    const { name, previous_ends_at } = rotating.data;
    return (
      <NewKeyDialog title={`New secret for ${name}`} apiKey={rotating.data} onClose={onClose}>
        <p className="text-sm text-soft">
          The old secret stops working <Time at={previous_ends_at} />.
        </p>
      </NewKeyDialog>
    );
  }
  return (
    <Dialog
      title={`Rotate ${apiKey.name}`}
      description="Creates a new secret. The old one keeps working during the grace period."
      onClose={onClose}
    >
      <DialogForm saving={rotating} submitLabel="Rotate key" onClose={onClose}>
        <GracePeriodField
          label="Grace period for the old secret"
          seconds={grace}
          onChange={setGrace}
        />
      </DialogForm>
    </Dialog>
  );
}

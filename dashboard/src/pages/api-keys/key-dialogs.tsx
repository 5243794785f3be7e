import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { apiFor, type Schema, unwrap } from '../../api/client.ts';
import { hasOnlyFieldErrors } from '../../api/problem.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          creating.mutate();
        }}
      >
        <KeyForm value={fields} onChange={setFields} error={creating.error} />
        {creating.isError && !hasOnlyFieldErrors(creating.error, FIELDS) && (
          <ErrorAlert error={creating.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={creating.isPending}
            disabled={scopes.length === 0}
          >
            Create key
          </Button>
        </DialogButtons>
      </form>
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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <KeyForm value={fields} onChange={setFields} error={changing.error} existing />
        {changing.isError && !hasOnlyFieldErrors(changing.error, FIELDS) && (
          <ErrorAlert error={changing.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={changing.isPending}
            disabled={fields.scopes.length === 0}
          >
            Save
          </Button>
        </DialogButtons>
      </form>
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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rotating.mutate();
        }}
      >
        <GracePeriodField
          label="Grace period for the old secret"
          seconds={grace}
          onChange={setGrace}
        />
        {rotating.isError && <ErrorAlert error={rotating.error} className="mt-4" />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={rotating.isPending}>
            Rotate key
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

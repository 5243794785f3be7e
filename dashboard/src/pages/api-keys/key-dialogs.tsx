import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { apiFor, unwrap, type Schema } from '../../api/client.ts';
import { hasOnlyFieldErrors } from '../../api/problem.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { DEFAULT_GRACE_SECONDS, GracePeriodField } from '../../components/secret.tsx';
import { Time } from '../../components/time.tsx';
import { useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { type KeyFields, KeyForm } from './key-form.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { PRESETS, type Scope } from './scopes.ts';

export type ApiKey = Schema<'ApiKey'>;

const SHOWN_BY_FIELDS = ['/name', '/expires_at'];

export function CreateKey({ onClose }: { onClose: () => void }) {
  const place = useSelection();
  const queries = useQueryClient();
  const may = useCan();
  const [fields, setFields] = useState<KeyFields>({
    name: '',
    mode: place.mode,
    scopes: PRESETS.app.scopes.filter((scope) => may(scope)),
    allowed_domains: [],
    allowed_ips: [],
    expires_at: null,
  });
  const making = useMutation({
    // Asked for in the key's own mode: nobody in test mode makes a live key by chance.
    mutationFn: () =>
      unwrap(apiFor({ ...place, mode: fields.mode }).POST('/api/v1/api-keys', { body: fields })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['api-keys'] }),
  });
  if (making.data) {
    const { name, token, scopes } = making.data;
    const maySend = scopes.includes('send:transactional');
    return <NewKeyDialog name={name} token={token} maySend={maySend} onClose={onClose} />;
  }
  return (
    <Dialog title="Create an API key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        <KeyForm value={fields} onChange={setFields} error={making.error} />
        {making.isError && !hasOnlyFieldErrors(making.error, SHOWN_BY_FIELDS) && (
          <ErrorAlert error={making.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            busy={making.isPending}
            disabled={fields.scopes.length === 0}
          >
            Create key
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

export function EditKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const place = useSelection();
  const queries = useQueryClient();
  const [fields, setFields] = useState<KeyFields>({
    name: apiKey.name,
    mode: apiKey.mode,
    scopes: apiKey.scopes as Scope[],
    allowed_domains: apiKey.allowed_domains,
    allowed_ips: apiKey.allowed_ips,
    expires_at: apiKey.expires_at,
  });
  const changing = useMutation({
    mutationFn: () => {
      const { mode: _, ...body } = fields;
      return unwrap(
        apiFor({ ...place, mode: apiKey.mode }).PATCH('/api/v1/api-keys/{id}', {
          params: { path: { id: apiKey.id } },
          body,
        }),
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['api-keys'] });
      showToast('The key is changed.');
      onClose();
    },
  });
  return (
    <Dialog title={`Change ${apiKey.name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate();
        }}
      >
        <KeyForm value={fields} onChange={setFields} error={changing.error} existing />
        {changing.isError && !hasOnlyFieldErrors(changing.error, SHOWN_BY_FIELDS) && (
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
  const place = useSelection();
  const queries = useQueryClient();
  const [grace, setGrace] = useState(DEFAULT_GRACE_SECONDS);
  const rotating = useMutation({
    mutationFn: () =>
      unwrap(
        apiFor({ ...place, mode: apiKey.mode }).POST('/api/v1/api-keys/{id}/rotate', {
          params: { path: { id: apiKey.id } },
          body: { grace_seconds: grace },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['api-keys'] }),
  });
  if (rotating.data) {
    const { name, token, scopes, previous_ends_at } = rotating.data;
    return (
      <NewKeyDialog
        name={`New secret of ${name}`}
        token={token}
        maySend={scopes.includes('send:transactional')}
        onClose={onClose}
      >
        <p className="text-sm text-soft">
          The secret before ends <Time at={previous_ends_at} />.
        </p>
      </NewKeyDialog>
    );
  }
  return (
    <Dialog
      title={`Rotate ${apiKey.name}`}
      description="The key gets a new secret. Both work while you change over."
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rotating.mutate();
        }}
      >
        <GracePeriodField
          label="How long the old secret goes on working"
          seconds={grace}
          onChange={setGrace}
        />
        {rotating.isError && <ErrorAlert error={rotating.error} className="mt-4" />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={rotating.isPending}>
            Make a new secret
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

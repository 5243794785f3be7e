import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { apiOf, ask, type Schema } from '../../api/client.ts';
import { isAboutFields } from '../../api/problem.ts';
import { tell } from '../../frame/toasts.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { GRACE_DEFAULT_SECONDS, GraceField } from '../../parts/secret.tsx';
import { Time } from '../../parts/time.tsx';
import { usePlace } from '../../session/place.ts';
import { useMay } from '../../session/session.ts';
import { type KeyFields, KeyForm } from './key-form.tsx';
import { NewSecret } from './new-secret.tsx';
import { PRESETS, type Scope } from './scopes.ts';

export type ApiKey = Schema<'ApiKey'>;

const SHOWN_BY_FIELDS = ['/name', '/expires_at'];

export function CreateKey({ onClose }: { onClose: () => void }) {
  const place = usePlace();
  const queries = useQueryClient();
  const may = useMay();
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
      ask(apiOf({ ...place, mode: fields.mode }).POST('/api/v1/api-keys', { body: fields })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['api-keys'] }),
  });
  if (making.data) {
    const { name, token, scopes } = making.data;
    const maySend = scopes.includes('send:transactional');
    return <NewSecret name={name} token={token} maySend={maySend} onClose={onClose} />;
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
        {making.isError && !isAboutFields(making.error, SHOWN_BY_FIELDS) && (
          <ProblemNote error={making.error} className="mt-4" />
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
  const place = usePlace();
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
      return ask(
        apiOf({ ...place, mode: apiKey.mode }).PATCH('/api/v1/api-keys/{id}', {
          params: { path: { id: apiKey.id } },
          body,
        }),
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['api-keys'] });
      tell('The key is changed.');
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
        {changing.isError && !isAboutFields(changing.error, SHOWN_BY_FIELDS) && (
          <ProblemNote error={changing.error} className="mt-4" />
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
  const place = usePlace();
  const queries = useQueryClient();
  const [grace, setGrace] = useState(GRACE_DEFAULT_SECONDS);
  const rotating = useMutation({
    mutationFn: () =>
      ask(
        apiOf({ ...place, mode: apiKey.mode }).POST('/api/v1/api-keys/{id}/rotate', {
          params: { path: { id: apiKey.id } },
          body: { grace_seconds: grace },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['api-keys'] }),
  });
  if (rotating.data) {
    const { name, token, scopes, previous_ends_at } = rotating.data;
    return (
      <NewSecret
        name={`New secret of ${name}`}
        token={token}
        maySend={scopes.includes('send:transactional')}
        onClose={onClose}
      >
        <p className="text-sm text-soft">
          The secret before ends <Time at={previous_ends_at} />.
        </p>
      </NewSecret>
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
        <GraceField
          label="How long the old secret goes on working"
          seconds={grace}
          onChange={setGrace}
        />
        {rotating.isError && <ProblemNote error={rotating.error} className="mt-4" />}
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

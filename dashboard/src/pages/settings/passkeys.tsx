import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Fingerprint, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api, type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm, NameDialog } from '../../components/dialog-form.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { addPasskey, browserHasPasskeys } from '../../session/passkeys.ts';
import { useSignInOptions } from '../../session/single-sign-on.tsx';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from './identity-fields.tsx';

type Passkey = Schema<'Passkey'>;

const QUERY_KEY = ['passkeys'];

/** Passkeys of the user: add, rename and remove. */
export function PasskeySettings() {
  const available = useSignInOptions(undefined).data?.passkeys;
  const [adding, setAdding] = useState(false);
  if (!browserHasPasskeys()) return null;
  return (
    <Section
      title="Passkeys"
      description="Sign in with your fingerprint, face or screen lock instead of your password."
      actions={
        <Button size="small" disabled={available !== true} onClick={() => setAdding(true)}>
          Add passkey
        </Button>
      }
    >
      {available === false ? (
        <p className="text-sm text-soft">
          Not available at this address: the server needs https and a host name.
        </p>
      ) : (
        <PasskeyList />
      )}
      {adding && <AddPasskey onClose={() => setAdding(false)} />}
    </Section>
  );
}

function PasskeyList() {
  const queries = useQueryClient();
  const [renaming, setRenaming] = useState<Passkey>();
  const passkeys = useQuery({
    queryKey: QUERY_KEY,
    queryFn: () => unwrap(api.GET('/api/v1/me/passkeys', { params: { query: { limit: 100 } } })),
  });
  const all = passkeys.data?.data;
  const remove = ({ id, name }: Passkey) =>
    requestConfirmation({
      title: `Remove ${name}?`,
      body: 'You can no longer sign in with this passkey. Delete it from your device too.',
      confirmLabel: 'Remove passkey',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/me/passkeys/{id}', { params: { path: { id } } }));
        await queries.invalidateQueries({ queryKey: QUERY_KEY });
        showToast('Passkey removed.');
      },
    });
  return (
    <>
      {passkeys.isPending && <Skeleton className="h-5 w-28" />}
      {passkeys.isLoadingError && <ErrorAlert error={passkeys.error} />}
      {all?.length === 0 && <p className="text-sm text-soft">No passkeys yet.</p>}
      <ul className={all?.length ? '-my-2 divide-y divide-line' : 'hidden'}>
        {all?.map((passkey) => (
          <li key={passkey.id} className="flex items-center gap-3 py-2.5 text-sm">
            <Fingerprint className="size-4 shrink-0 text-faint" aria-hidden />
            <div className="min-w-0 flex-1">
              <div className="truncate font-medium">{passkey.name}</div>
              <div className="text-xs text-faint">
                added <Time at={passkey.created_at} />
                {passkey.last_used_at !== null && (
                  <>
                    {' '}
                    · last used <Time at={passkey.last_used_at} />
                  </>
                )}
              </div>
            </div>
            <IconButton
              icon={Pencil}
              label={`Rename ${passkey.name}`}
              onClick={() => setRenaming(passkey)}
            />
            <IconButton
              icon={Trash2}
              danger
              label={`Remove ${passkey.name}`}
              onClick={() => remove(passkey)}
            />
          </li>
        ))}
      </ul>
      {renaming && <RenamePasskey passkey={renaming} onClose={() => setRenaming(undefined)} />}
    </>
  );
}

const FIELDS = ['/name', '/password', '/code'];

function AddPasskey({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const adding = useMutation({
    mutationFn: () => addPasskey(name.trim(), identityBody(identity)),
    onSuccess: async (isAdded) => {
      if (!isAdded) return;
      await queries.invalidateQueries({ queryKey: QUERY_KEY });
      showToast('Passkey added.');
      onClose();
    },
  });
  return (
    <Dialog title="Add passkey" onClose={onClose} skipDiscardCheck>
      <DialogForm saving={adding} fields={FIELDS} submitLabel="Continue" onClose={onClose}>
        <Field label="Name" hint="To recognize it later." error={fieldError(adding.error, '/name')}>
          <TextInput
            placeholder="Laptop"
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
          />
        </Field>
        <IdentityFields value={identity} onChange={setIdentity} error={adding.error} />
        {adding.data === false && (
          <Alert tone="warn" title="No passkey was added">
            <p>The browser’s dialog was closed or timed out.</p>
          </Alert>
        )}
      </DialogForm>
    </Dialog>
  );
}

function RenamePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const queries = useQueryClient();
  const rename = async (name: string) => {
    const params = { path: { id: passkey.id } };
    await unwrap(api.PATCH('/api/v1/me/passkeys/{id}', { params, body: { name } }));
    await queries.invalidateQueries({ queryKey: QUERY_KEY });
    onClose();
  };
  return (
    <NameDialog
      title="Rename passkey"
      name={passkey.name}
      submitLabel="Save"
      onSubmit={rename}
      onClose={onClose}
    />
  );
}

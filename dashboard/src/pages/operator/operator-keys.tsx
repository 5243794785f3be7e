import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { api, type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { fieldError, toProblem } from '../../api/problem.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { OneTimeSecret } from '../../components/secret.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useMeQuery } from '../../session/session.ts';
import { EMPTY_IDENTITY, IdentityFields, identityBody } from '../settings/identity-fields.tsx';

type OperatorKey = Schema<'OperatorKey'>;

const QUERY_KEY = ['operator-keys'];

/** For instance owners, with their session: an operator key cannot manage operator keys. */
export function OperatorKeysPage() {
  const me = useMeQuery();
  if (me.isPending) return <SkeletonRows />;
  if (me.data?.instance_owner) return <KeyList />;
  const isSignedOut = me.isError && toProblem(me.error).status === 401;
  return (
    <Page title="Operator keys">
      {me.isError && !isSignedOut ? (
        <ErrorAlert error={me.error} onRetry={() => void me.refetch()} />
      ) : (
        <Alert tone="info" title="Only instance owners can manage operator keys">
          <p>
            {isSignedOut ? (
              <>
                <Link to="/sign-in" search={{ next: '/operator/keys' }} className="underline">
                  Sign in
                </Link>{' '}
                as an instance owner, or use the command line:{' '}
              </>
            ) : (
              'Your account is not an instance owner. Use the command line: '
            )}
            <code className="font-mono">postrider operator-keys</code> manages keys, and{' '}
            <code className="font-mono">postrider people add-instance-owner</code> appoints an
            instance owner.
          </p>
        </Alert>
      )}
    </Page>
  );
}

function KeyList() {
  const [creating, setCreating] = useState(false);
  const list = usePaginatedQuery(QUERY_KEY, (cursor) =>
    unwrap(api.GET('/api/v1/operator-keys', { params: { query: pageParams(cursor) } })),
  );
  const create = (
    <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
      Create operator key
    </Button>
  );
  return (
    <Page
      full
      title="Operator keys"
      description="Credentials that manage all workspaces, for programs and for the operator area."
      actions={create}
    >
      <PaginatedList
        list={list}
        empty={<EmptyState icon={KeyRound} title="No operator keys yet" />}
      >
        <KeyTable keys={list.rows} />
      </PaginatedList>
      {creating && <CreateKey onClose={() => setCreating(false)} />}
    </Page>
  );
}

function KeyTable({ keys }: { keys: OperatorKey[] }) {
  const queries = useQueryClient();
  const revoke = ({ id, name }: OperatorKey) =>
    requestConfirmation({
      title: `Revoke ${name}?`,
      body: 'Programs and browsers that use this key lose access at once. This cannot be undone.',
      confirmLabel: 'Revoke key',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/operator-keys/{id}', { params: { path: { id } } }));
        await queries.invalidateQueries({ queryKey: QUERY_KEY });
        showToast('Operator key revoked.');
      },
    });
  return (
    <Table label="Operator keys">
      <thead>
        <tr>
          <Th>Name</Th>
          <Th>State</Th>
          <Th hideBelow="md">Allowed IP addresses</Th>
          <Th hideBelow="md">Created</Th>
          <Th hideBelow="md">Last used</Th>
          <Th>
            <span className="sr-only">Actions</span>
          </Th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <Tr key={key.id}>
            <Td>
              <span className="block font-medium wrap-anywhere">{key.name}</span>
              <span className="font-mono text-xs text-faint">{key.token_hint}</span>
            </Td>
            <Td>
              <KeyState {...key} />
            </Td>
            <Td hideBelow="md" className="font-mono text-xs">
              {key.allowed_ips.join(', ') || 'Any'}
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={key.created_at} />
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={key.last_used_at} />
            </Td>
            <Td className="text-right">
              {key.revoked_at === null && (
                <Button
                  kind="danger-quiet"
                  aria-label={`Revoke ${key.name}`}
                  onClick={() => revoke(key)}
                >
                  Revoke
                </Button>
              )}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

function KeyState({ revoked_at, expires_at }: OperatorKey) {
  if (revoked_at !== null) return <Badge tone="plain">Revoked</Badge>;
  if (expires_at !== null && Date.parse(expires_at) <= Date.now()) {
    return <Badge tone="plain">Expired</Badge>;
  }
  return <Badge tone="good">Active</Badge>;
}

function CreateKey({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [networks, setNetworks] = useState('');
  const [expiry, setExpiry] = useState('');
  const [identity, setIdentity] = useState(EMPTY_IDENTITY);
  const allowedIps = networks.split(/[\s,]+/).filter((text) => text !== '');
  const creating = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/operator-keys', {
          body: {
            name: name.trim(),
            allowed_ips: allowedIps,
            // The whole day, in the browser's time zone.
            ...(expiry === '' ? {} : { expires_at: new Date(`${expiry}T23:59:59`).toISOString() }),
            ...identityBody(identity),
          },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: QUERY_KEY }),
  });
  if (creating.data) return <CreatedKey token={creating.data.token} onClose={onClose} />;
  const networkError = allowedIps
    .map((_, index) => fieldError(creating.error, `/allowed_ips/${index}`))
    .find((text) => text !== undefined);
  const shown = ['/name', '/expires_at', '/password', '/code'].concat(
    allowedIps.map((_, index) => `/allowed_ips/${index}`),
  );
  return (
    <Dialog
      title="Create operator key"
      description="It can create, limit, suspend and delete all workspaces, and create their API keys."
      onClose={onClose}
    >
      <DialogForm saving={creating} fields={shown} submitLabel="Create" onClose={onClose}>
        <Field label="Name" error={fieldError(creating.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="Billing system"
            required
            maxLength={100}
          />
        </Field>
        <Field
          label="Allowed IP addresses"
          optional
          hint="Addresses or networks such as 203.0.113.0/24. Leave empty to allow any."
          error={networkError}
        >
          <TextInput mono value={networks} onChange={(event) => setNetworks(event.target.value)} />
        </Field>
        <Field label="Expires" optional error={fieldError(creating.error, '/expires_at')}>
          <TextInput
            type="date"
            value={expiry}
            onChange={(event) => setExpiry(event.target.value)}
          />
        </Field>
        <IdentityFields value={identity} onChange={setIdentity} error={creating.error} />
      </DialogForm>
    </Dialog>
  );
}

function CreatedKey({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <Dialog title="Operator key created" onClose={onClose} persistent>
      <div className="grid gap-4">
        <p className="text-sm text-soft">
          Copy the key now; it is not shown again. Protect it like access to the server itself.
        </p>
        <OneTimeSecret secret={token} copy="Copy key" />
        <DialogButtons>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError, hasOnlyFieldErrors, toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Checkbox, Field, Select, TextInput } from '../../components/field.tsx';
import { Detail, DetailList, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useWorkspace } from '../../session/session.ts';
import { ROLES } from '../team/roles.ts';

type Provider = Schema<'SingleSignOn'>;
type ProvidedRole = Provider['group_roles'][number]['role'];

const NAME = 'single-sign-on';

/** The identity provider of the workspace. Only for owners, who decide who can sign in as a member. */
export function SingleSignOnSettings() {
  const { role } = useWorkspace();
  return role === 'owner' ? <ProviderSection /> : null;
}

function ProviderSection() {
  const { api, key } = useApi();
  const { id } = useWorkspace();
  const queries = useQueryClient();
  const [editing, setEditing] = useState(false);
  const provider = useQuery({
    queryKey: key(NAME),
    queryFn: async (): Promise<Provider | null> => {
      // Without a provider, asking for it would leave an error in the console and in the request log.
      const params = { query: { workspace: id } };
      const options = await unwrap(api.GET('/api/v1/session/options', { params }));
      if (options.single_sign_on === null) return null;
      try {
        return await unwrap(api.GET('/api/v1/single-sign-on'));
      } catch (error) {
        if (toProblem(error).status === 404) return null;
        throw error;
      }
    },
  });
  const remove = () =>
    requestConfirmation({
      title: 'Remove single sign-on?',
      body: 'Everyone who signed in with the provider is signed out. Members without a password can set one with a password reset.',
      confirmLabel: 'Remove',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/single-sign-on'));
        await queries.invalidateQueries({ queryKey: key(NAME) });
        showToast('Single sign-on removed.');
      },
    });
  return (
    <Section
      title="Single sign-on"
      description="Members sign in with your identity provider (OpenID Connect)."
    >
      {provider.isPending && <SkeletonRows rows={2} />}
      {provider.isLoadingError && <ErrorAlert error={provider.error} />}
      {provider.data === null && (
        <Button kind="primary" onClick={() => setEditing(true)}>
          Set up single sign-on
        </Button>
      )}
      {provider.data && (
        <div className="grid gap-4">
          <ProviderDetails provider={provider.data} />
          {provider.data.managed_by === 'server' ? (
            <p className="text-sm text-soft">The settings of the server configure this provider.</p>
          ) : (
            <div className="flex gap-2">
              <Button onClick={() => setEditing(true)}>Edit</Button>
              <Button kind="danger-quiet" onClick={remove}>
                Remove
              </Button>
            </div>
          )}
        </div>
      )}
      {editing && (
        <ProviderDialog provider={provider.data ?? null} onClose={() => setEditing(false)} />
      )}
    </Section>
  );
}

function ProviderDetails({ provider }: { provider: Provider }) {
  return (
    <DetailList>
      <Detail name="Provider">
        {provider.name} {provider.enforced && <Badge tone="good">Required</Badge>}
      </Detail>
      <Detail name="Issuer">{provider.issuer}</Detail>
      <Detail name="Sign-in link">
        <CopyCode text={provider.sign_in_url} className="break-all" />
      </Detail>
      <Detail name="Redirect URI">
        <CopyCode text={provider.redirect_uri} className="break-all" />
      </Detail>
    </DetailList>
  );
}

interface Mapping {
  id: number;
  group: string;
  role: ProvidedRole;
}

const FIELDS = ['/name', '/issuer', '/client_id', '/client_secret', '/groups_claim'];

function ProviderDialog({ provider, onClose }: { provider: Provider | null; onClose: () => void }) {
  const { api, key } = useApi();
  const { id } = useWorkspace();
  const queries = useQueryClient();
  const redirectUri = provider?.redirect_uri ?? `${location.origin}/sso/callback/${id}`;
  const [name, setName] = useState(provider?.name ?? '');
  const [issuer, setIssuer] = useState(provider?.issuer ?? '');
  const [clientId, setClientId] = useState(provider?.client_id ?? '');
  const [secret, setSecret] = useState('');
  const [groupsClaim, setGroupsClaim] = useState(provider?.groups_claim ?? 'groups');
  const [mappings, setMappings] = useState<Mapping[]>(
    () => provider?.group_roles.map((one, id) => ({ ...one, id })) ?? [],
  );
  const [defaultRole, setDefaultRole] = useState<ProvidedRole | ''>(provider?.default_role ?? '');
  const [enforced, setEnforced] = useState(provider?.enforced ?? false);
  const saving = useMutation({
    mutationFn: () =>
      unwrap(
        api.PUT('/api/v1/single-sign-on', {
          body: {
            name: name.trim(),
            issuer: issuer.trim(),
            client_id: clientId.trim(),
            ...(secret === '' ? {} : { client_secret: secret }),
            groups_claim: groupsClaim.trim(),
            group_roles: mappings
              .filter(({ group }) => group.trim() !== '')
              .map(({ group, role }) => ({ group: group.trim(), role })),
            default_role: defaultRole === '' ? null : defaultRole,
            enforced,
          },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: key(NAME) });
      showToast('Single sign-on saved.');
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  const error = (pointer: string) => fieldError(saving.error, pointer);
  return (
    <Dialog title="Single sign-on" onClose={onClose}>
      <form className="grid gap-4" onSubmit={submit}>
        <p className="text-sm text-soft">
          Register a web application at your provider with the redirect URI{' '}
          <CopyCode text={redirectUri} className="break-all" />
        </p>
        <Field label="Name" hint="Shown on the sign-in page." error={error('/name')}>
          <TextInput value={name} onChange={(event) => setName(event.target.value)} required />
        </Field>
        <Field label="Issuer" error={error('/issuer')}>
          <TextInput
            mono
            placeholder="https://login.example.com"
            value={issuer}
            onChange={(event) => setIssuer(event.target.value)}
            required
          />
        </Field>
        <Field label="Client ID" error={error('/client_id')}>
          <TextInput
            mono
            value={clientId}
            onChange={(event) => setClientId(event.target.value)}
            required
          />
        </Field>
        <Field label="Client secret" error={error('/client_secret')}>
          <TextInput
            type="password"
            autoComplete="new-password"
            placeholder={provider ? 'Unchanged' : ''}
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
            required={provider === null}
          />
        </Field>
        <Field
          label="Groups claim"
          hint="The claim that contains the groups of a person."
          error={error('/groups_claim')}
        >
          <TextInput
            mono
            value={groupsClaim}
            onChange={(event) => setGroupsClaim(event.target.value)}
            required
          />
        </Field>
        <GroupRoles mappings={mappings} onChange={setMappings} />
        <Field label="Everyone else">
          <Select
            value={defaultRole}
            onChange={(event) => setDefaultRole(event.target.value as ProvidedRole | '')}
          >
            <option value="">No access</option>
            <RoleOptions />
          </Select>
        </Field>
        <Checkbox
          label="Require single sign-on"
          hint="Members can’t use other ways to sign in. Owners can always use their password."
          checked={enforced}
          onChange={setEnforced}
        />
        {enforced && !provider?.enforced && (
          <Alert tone="warn" title="Sign in with the provider once before you require it">
            <p>Members who are signed in with a password lose access to the workspace at once.</p>
          </Alert>
        )}
        {saving.isError && !hasOnlyFieldErrors(saving.error, FIELDS) && (
          <ErrorAlert error={saving.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={saving.isPending}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function RoleOptions() {
  return ROLES.filter(({ role }) => role !== 'owner').map(({ role, label }) => (
    <option key={role} value={role}>
      {label}
    </option>
  ));
}

function GroupRoles({
  mappings,
  onChange,
}: {
  mappings: readonly Mapping[];
  onChange: (next: Mapping[]) => void;
}) {
  const set = (id: number, change: Partial<Mapping>) =>
    onChange(mappings.map((one) => (one.id === id ? { ...one, ...change } : one)));
  const add = () => {
    const id = Math.max(-1, ...mappings.map((one) => one.id)) + 1;
    onChange([...mappings, { id, group: '', role: 'developer' }]);
  };
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 text-sm font-medium">Roles of groups</legend>
      {mappings.map(({ id, group, role }) => (
        <div key={id} className="flex items-center gap-2">
          <TextInput
            aria-label="Group"
            placeholder="engineers"
            value={group}
            onChange={(event) => set(id, { group: event.target.value })}
          />
          <Select
            aria-label={`Role of ${group || 'the group'}`}
            value={role}
            onChange={(event) => set(id, { role: event.target.value as ProvidedRole })}
          >
            <RoleOptions />
          </Select>
          <IconButton
            icon={X}
            label={`Remove ${group || 'this group'}`}
            onClick={() => onChange(mappings.filter((one) => one.id !== id))}
          />
        </div>
      ))}
      <div>
        <Button size="small" icon={Plus} onClick={add}>
          Add group
        </Button>
      </div>
      <p className="text-xs text-faint">
        The first match decides, at every sign-in. Without groups, roles are set on the team page.
      </p>
    </fieldset>
  );
}

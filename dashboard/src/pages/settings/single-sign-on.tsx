import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError, toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
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
            <p className="text-sm text-soft">
              This provider is configured in the server’s settings.
            </p>
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
  const [form, setForm] = useState(() => formOf(provider));
  const saving = useMutation({
    mutationFn: () => unwrap(api.PUT('/api/v1/single-sign-on', { body: bodyOf(form) })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: key(NAME) });
      showToast('Single sign-on saved.');
      onClose();
    },
  });
  const error = (pointer: string) => fieldError(saving.error, pointer);
  const input = (field: 'name' | 'issuer' | 'clientId' | 'secret' | 'groupsClaim') => ({
    value: form[field],
    onChange: (event: { target: { value: string } }) =>
      setForm({ ...form, [field]: event.target.value }),
  });
  return (
    <Dialog title="Single sign-on" onClose={onClose}>
      <DialogForm saving={saving} fields={FIELDS} submitLabel="Save" onClose={onClose}>
        <p className="text-sm text-soft">
          Register a web application at your provider with the redirect URI{' '}
          <CopyCode text={redirectUri} className="break-all" />
        </p>
        <Field label="Name" hint="Shown on the sign-in page." error={error('/name')}>
          <TextInput {...input('name')} required data-first-focus />
        </Field>
        <Field label="Issuer" error={error('/issuer')}>
          <TextInput mono placeholder="https://login.example.com" {...input('issuer')} required />
        </Field>
        <Field label="Client ID" error={error('/client_id')}>
          <TextInput mono {...input('clientId')} required />
        </Field>
        <Field label="Client secret" error={error('/client_secret')}>
          <TextInput
            type="password"
            autoComplete="new-password"
            placeholder={provider ? 'Unchanged' : ''}
            {...input('secret')}
            required={provider === null}
          />
        </Field>
        <Field
          label="Groups claim"
          hint="The claim that contains a user’s groups."
          error={error('/groups_claim')}
        >
          <TextInput mono {...input('groupsClaim')} required />
        </Field>
        <GroupRoles
          mappings={form.mappings}
          onChange={(mappings) => setForm({ ...form, mappings })}
        />
        <Field label="Everyone else">
          <Select
            value={form.defaultRole}
            onChange={(event) =>
              setForm({ ...form, defaultRole: event.target.value as ProvidedRole | '' })
            }
          >
            <option value="">No access</option>
            <RoleOptions />
          </Select>
        </Field>
        <Checkbox
          label="Require single sign-on"
          hint="Members can’t use other ways to sign in. Owners can always use their password."
          checked={form.enforced}
          onChange={(enforced) => setForm({ ...form, enforced })}
        />
        {form.enforced && !provider?.enforced && (
          <Alert tone="warn" title="Sign in with the provider once before you require it">
            <p>Members who are signed in with a password lose access to the workspace at once.</p>
          </Alert>
        )}
      </DialogForm>
    </Dialog>
  );
}

interface ProviderForm {
  name: string;
  issuer: string;
  clientId: string;
  secret: string;
  groupsClaim: string;
  mappings: Mapping[];
  defaultRole: ProvidedRole | '';
  enforced: boolean;
}

function formOf(provider: Provider | null): ProviderForm {
  return {
    name: provider?.name ?? '',
    issuer: provider?.issuer ?? '',
    clientId: provider?.client_id ?? '',
    secret: '',
    groupsClaim: provider?.groups_claim ?? 'groups',
    mappings: provider?.group_roles.map((one, id) => ({ ...one, id })) ?? [],
    defaultRole: provider?.default_role ?? '',
    enforced: provider?.enforced ?? false,
  };
}

/** An empty secret keeps the stored one. */
function bodyOf(form: ProviderForm) {
  return {
    name: form.name.trim(),
    issuer: form.issuer.trim(),
    client_id: form.clientId.trim(),
    ...(form.secret === '' ? {} : { client_secret: form.secret }),
    groups_claim: form.groupsClaim.trim(),
    group_roles: form.mappings
      .filter(({ group }) => group.trim() !== '')
      .map(({ group, role }) => ({ group: group.trim(), role })),
    default_role: form.defaultRole === '' ? null : form.defaultRole,
    enforced: form.enforced,
  };
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

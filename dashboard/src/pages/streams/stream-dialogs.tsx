import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, RadioCards, Select, TextInput } from '../../components/field.tsx';
import { NameAndKeyFields, useNameAndKey } from '../../components/name-and-key-fields.tsx';
import { showToast } from '../../layout/toasts.tsx';
import type { Stream } from './use-streams.ts';

const FIELDS = ['/key', '/name'];
const EDIT_FIELDS = [
  ...['/name', '/brand/name', '/brand/logo_url', '/brand/color'],
  ...['/from/email', '/from/name', '/route', '/messages_per_minute', '/content_retention_days'],
];

export function CreateStream({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const named = useNameAndKey({ name: 100, key: 64 });
  const [purpose, setPurpose] = useState<Stream['purpose']>('subscription');
  const creating = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/streams', {
          body: { key: named.key, name: named.name.trim(), purpose },
        }),
      ),
    onSuccess: async (stream) => {
      await queries.invalidateQueries({ queryKey: ['streams'] });
      showToast(`${stream.name} created.`);
      onClose();
    },
  });
  return (
    <Dialog title="Create stream" onClose={onClose}>
      <DialogForm saving={creating} fields={FIELDS} submitLabel="Create" onClose={onClose}>
        <NameAndKeyFields value={named} placeholder="Weekly digest" error={creating.error} />
        <RadioCards
          legend="Purpose"
          columns
          value={purpose}
          onChange={setPurpose}
          options={[
            {
              value: 'subscription',
              label: 'Subscription',
              hint: 'Mail that recipients signed up for, such as a digest.',
            },
            {
              value: 'transactional',
              label: 'Transactional',
              hint: 'Mail triggered by something the recipient did.',
            },
          ]}
        />
      </DialogForm>
    </Dialog>
  );
}

export function EditStream({ stream, onClose }: { stream: Stream; onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState(stream.name);
  const [tracking, setTracking] = useState(stream.tracking);
  const [brand, setBrand] = useState(stream.brand);
  const [defaults, setDefaults] = useState(() => defaultsOf(stream));
  const changing = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH('/api/v1/streams/{key}', {
          params: { path: { key: stream.key } },
          body: { name: name.trim(), tracking, brand, ...toDefaults(defaults) },
        }),
      ),
    onSuccess: async (changed) => {
      await queries.invalidateQueries({ queryKey: ['streams'] });
      showToast(`${changed.name} saved.`);
      onClose();
    },
  });
  return (
    <Dialog title={`Edit ${stream.name}`} onClose={onClose}>
      <DialogForm saving={changing} fields={EDIT_FIELDS} submitLabel="Save" onClose={onClose}>
        <Field label="Name" error={fieldError(changing.error, '/name')}>
          <TextInput
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={100}
          />
        </Field>
        <TrackingSelect
          label="Track opens"
          value={tracking.opens}
          onChange={(opens) => setTracking({ ...tracking, opens })}
        />
        <TrackingSelect
          label="Track clicks"
          value={tracking.clicks}
          onChange={(clicks) => setTracking({ ...tracking, clicks })}
        />
        <DefaultFields
          stream={stream}
          value={defaults}
          onChange={setDefaults}
          error={changing.error}
        />
        {stream.purpose === 'subscription' && (
          <UnsubscribePageFields value={brand} onChange={setBrand} error={changing.error} />
        )}
      </DialogForm>
    </Dialog>
  );
}

function DefaultFields({
  stream,
  value,
  onChange,
  error,
}: {
  stream: Stream;
  value: StreamDefaults;
  onChange: (next: StreamDefaults) => void;
  error: unknown;
}) {
  const routes = useRoutes(stream.route);
  const input = (field: keyof StreamDefaults) => ({
    value: value[field],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...value, [field]: event.target.value }),
  });
  return (
    <div className="grid items-start gap-4 sm:grid-cols-2">
      <Field
        label="Default sender"
        optional
        hint="For mail without a sender."
        error={fieldError(error, '/from/email')}
      >
        <TextInput type="email" placeholder="digest@yourdomain.com" {...input('fromEmail')} />
      </Field>
      <Field label="Sender’s display name" optional error={fieldError(error, '/from/name')}>
        <TextInput maxLength={100} {...input('fromName')} />
      </Field>
      {routes.length > 0 && (
        <Field label="Route" optional error={fieldError(error, '/route')}>
          <Select {...input('route')}>
            <option value="">Default route</option>
            {routes.map((route) => (
              <option key={route}>{route}</option>
            ))}
          </Select>
        </Field>
      )}
      <Field
        label="Recipients per minute"
        optional
        hint="Live mail above this rate waits in the queue."
        error={fieldError(error, '/messages_per_minute')}
      >
        <TextInput type="number" min={1} {...input('messagesPerMinute')} />
      </Field>
      <Field
        label="Keep content (days)"
        optional
        hint="Leave empty to use the server’s setting."
        error={fieldError(error, '/content_retention_days')}
      >
        <TextInput type="number" min={1} {...input('contentRetentionDays')} />
      </Field>
    </div>
  );
}

function UnsubscribePageFields({
  value,
  onChange,
  error,
}: {
  value: Stream['brand'];
  onChange: (next: Stream['brand']) => void;
  error: unknown;
}) {
  const input = (field: keyof Stream['brand']) => ({
    value: value[field] ?? '',
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...value, [field]: event.target.value.trim() === '' ? null : event.target.value }),
  });
  return (
    <fieldset className="grid gap-4 rounded-lg border border-line p-3">
      <legend className="px-1 text-sm font-medium">Unsubscribe page</legend>
      <Field
        label="Sender name"
        hint="Default: the name of the workspace."
        error={fieldError(error, '/brand/name')}
      >
        <TextInput maxLength={100} {...input('name')} />
      </Field>
      <Field label="Logo URL" optional error={fieldError(error, '/brand/logo_url')}>
        <TextInput placeholder="https://yourdomain.com/logo.png" {...input('logo_url')} />
      </Field>
      <Field label="Button color" optional error={fieldError(error, '/brand/color')}>
        <TextInput mono placeholder="#0a7cff" {...input('color')} />
      </Field>
    </fieldset>
  );
}

/** The routes that the operator has configured, and the one that the stream has. */
function useRoutes(current: string | null): string[] {
  const { api, key } = useApi();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => unwrap(api.GET('/api/v1/limits')),
    staleTime: 60_000,
  });
  return [...new Set([...(limits.data?.stream_routes ?? []), ...(current ? [current] : [])])];
}

interface StreamDefaults {
  fromEmail: string;
  fromName: string;
  route: string;
  messagesPerMinute: string;
  contentRetentionDays: string;
}

function defaultsOf(stream: Stream): StreamDefaults {
  return {
    fromEmail: stream.from?.email ?? '',
    fromName: stream.from?.name ?? '',
    route: stream.route ?? '',
    messagesPerMinute: String(stream.messages_per_minute ?? ''),
    contentRetentionDays: String(stream.content_retention_days ?? ''),
  };
}

/** Empty fields have no default. */
function toDefaults({ fromEmail, fromName, route, ...numbers }: StreamDefaults) {
  const email = fromEmail.trim();
  const toNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  return {
    from: email === '' ? null : { email, name: fromName.trim() || null },
    route: route.trim() || null,
    messages_per_minute: toNumber(numbers.messagesPerMinute),
    content_retention_days: toNumber(numbers.contentRetentionDays),
  };
}

function TrackingSelect({
  label,
  value,
  onChange,
}: {
  label: string;
  value: boolean | null;
  onChange: (next: boolean | null) => void;
}) {
  return (
    <Field label={label}>
      <Select
        value={value === null ? '' : String(value)}
        onChange={(event) =>
          onChange(event.target.value === '' ? null : event.target.value === 'true')
        }
      >
        <option value="">Use the domain’s setting</option>
        <option value="true">On</option>
        <option value="false">Off</option>
      </Select>
    </Field>
  );
}

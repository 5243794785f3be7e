import { fieldError } from '../../api/problem.ts';
import { Checkbox, Field, Select, TextInput } from '../../components/field.tsx';
import { useSelection } from '../../session/selection.ts';
import { useStreams } from '../streams/use-streams.ts';
import { EventPicker } from './event-picker.tsx';
import { HeaderFields, type HeaderRow, pointerOf } from './header-fields.tsx';
import { WEBHOOK_FORMATS, type WebhookFormat } from './webhook-formats.tsx';

export interface WebhookFields {
  url: string;
  description: string;
  format: WebhookFormat;
  events: string[];
  streams: string[];
  enabled: boolean;
  headers: HeaderRow[];
}

/** The fields whose errors the form shows itself. */
export function shownByFields({ headers }: WebhookFields): string[] {
  return ['/url', '/description', '/events', ...headers.map(({ name }) => pointerOf(name))];
}

/** The fields of an endpoint, for creating and editing. */
export function WebhookForm({
  value,
  onChange,
  error,
  isNew = false,
}: {
  value: WebhookFields;
  onChange: (next: WebhookFields) => void;
  error: unknown;
  /** The format of an existing endpoint is fixed. */
  isNew?: boolean;
}) {
  const { mode } = useSelection();
  return (
    <div className="grid gap-5">
      <Field
        label="URL"
        hint={
          mode === 'live'
            ? 'HTTPS, reachable from the internet. Redirects are not followed.'
            : 'Receives test events. Redirects are not followed.'
        }
        error={fieldError(error, '/url')}
      >
        <TextInput
          mono
          inputMode="url"
          value={value.url}
          onChange={(event) => onChange({ ...value, url: event.target.value })}
          placeholder="https://yourdomain.com/hooks/mail"
          required
          maxLength={2048}
        />
      </Field>
      {isNew && (
        <Field
          label="Format"
          hint={`${WEBHOOK_FORMATS[value.format].receiver} Cannot be changed later.`}
        >
          <Select
            value={value.format}
            onChange={(event) =>
              onChange({ ...value, format: event.target.value as WebhookFormat })
            }
          >
            {Object.entries(WEBHOOK_FORMATS).map(([format, { label }]) => (
              <option key={format} value={format}>
                {label}
              </option>
            ))}
          </Select>
        </Field>
      )}
      <Field label="Description" optional error={fieldError(error, '/description')}>
        <TextInput
          value={value.description}
          onChange={(event) => onChange({ ...value, description: event.target.value })}
          placeholder="Marks bounced customers in the shop"
          maxLength={500}
        />
      </Field>
      <div>
        <EventPicker
          value={value.events}
          onChange={(events) => onChange({ ...value, events })}
          isNew={isNew}
        />
        {fieldError(error, '/events') !== undefined && (
          <p className="mt-1.5 text-xs text-bad">{fieldError(error, '/events')}</p>
        )}
      </div>
      <StreamPicker value={value.streams} onChange={(streams) => onChange({ ...value, streams })} />
      <details open={value.headers.length > 0} className="rounded-lg border border-line">
        <summary className="rounded-lg px-3 py-2 text-sm font-medium">Custom headers</summary>
        <div className="grid gap-3 border-t border-line p-3">
          <p className="text-xs text-faint">
            Sent with every request, such as a token for a gateway. Values are not shown again.
          </p>
          <HeaderFields
            rows={value.headers}
            onChange={(headers) => onChange({ ...value, headers })}
            error={error}
          />
        </div>
      </details>
      <Checkbox
        label="Enabled"
        hint="When disabled, events are not delivered. You can replay them later."
        checked={value.enabled}
        onChange={(enabled) => onChange({ ...value, enabled })}
      />
    </div>
  );
}

/** Limits an endpoint to streams, if there are several. Without a choice it gets those of all. */
function StreamPicker({
  value,
  onChange,
}: {
  value: string[];
  onChange: (streams: string[]) => void;
}) {
  const streams = useStreams().data ?? [];
  if (streams.length < 2) return null;
  return (
    <details open={value.length > 0} className="rounded-lg border border-line">
      <summary className="rounded-lg px-3 py-2 text-sm font-medium">Only some streams</summary>
      <div className="grid gap-3 border-t border-line p-3">
        <p className="text-xs text-faint">
          Without a choice, events of all streams are sent. Events that concern no stream are always
          sent.
        </p>
        {streams.map(({ key, name }) => (
          <Checkbox
            key={key}
            label={name}
            checked={value.includes(key)}
            onChange={(checked) =>
              onChange(checked ? [...value, key] : value.filter((one) => one !== key))
            }
          />
        ))}
      </div>
    </details>
  );
}

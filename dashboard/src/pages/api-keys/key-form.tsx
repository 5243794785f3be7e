import { useState } from 'react';
import { fieldError } from '../../api/problem.ts';
import {
  Checkbox,
  Field,
  RadioCards,
  Select,
  TextArea,
  TextInput,
} from '../../components/field.tsx';
import { localTime } from '../../components/time.tsx';
import type { Mode } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { isAvailable, PRESETS, type Preset, presetOf, SCOPE_ROWS, type Scope } from './scopes.ts';

export interface KeyFields {
  name: string;
  mode: Mode;
  scopes: Scope[];
  allowed_domains: string[];
  allowed_ips: string[];
  allowed_streams: string[];
  expires_at: string | null;
}

/** The fields of an API key, for creating and editing. */
export function KeyForm({
  value,
  onChange,
  error,
  existing,
}: {
  value: KeyFields;
  onChange: (next: KeyFields) => void;
  error: unknown;
  existing?: boolean;
}) {
  const { allowed_domains: domains, allowed_ips: ips, allowed_streams: streams } = value;
  const limited = domains.length + ips.length + streams.length > 0;
  return (
    <div className="grid gap-5">
      <Field
        label="Name"
        hint="A name to recognize this key later."
        error={fieldError(error, '/name')}
      >
        <TextInput
          value={value.name}
          onChange={(event) => onChange({ ...value, name: event.target.value })}
          placeholder="Web shop"
          required
          maxLength={100}
          autoFocus
        />
      </Field>
      {!existing && (
        <RadioCards
          legend="Mode"
          columns
          value={value.mode}
          onChange={(mode) => onChange({ ...value, mode })}
          options={[
            { value: 'test', label: 'Test', hint: 'Emails go to the test inbox.' },
            { value: 'live', label: 'Live', hint: 'Emails are sent to real recipients.' },
          ]}
        />
      )}
      <ScopeSelect
        mode={value.mode}
        value={value.scopes}
        onChange={(scopes) => onChange({ ...value, scopes })}
      />
      <Expiry
        value={value.expires_at}
        error={fieldError(error, '/expires_at')}
        onChange={(expires_at) => onChange({ ...value, expires_at })}
      />
      <details open={limited} className="group rounded-lg border border-line">
        <summary className="rounded-lg px-3 py-2 text-sm font-medium">Restrictions</summary>
        <div className="grid gap-4 border-t border-line p-3">
          <LinesField
            label="Sender domains"
            hint="One per line. Leave empty to allow all domains of the workspace."
            placeholder="yourdomain.com"
            value={domains}
            error={firstError(error, '/allowed_domains')}
            onChange={(allowed_domains) => onChange({ ...value, allowed_domains })}
          />
          <LinesField
            label="IP addresses"
            hint="Addresses or CIDR ranges, one per line. Leave empty to allow any."
            placeholder="203.0.113.0/24"
            value={ips}
            error={firstError(error, '/allowed_ips')}
            onChange={(allowed_ips) => onChange({ ...value, allowed_ips })}
          />
          <LinesField
            label="Streams"
            hint="Keys, one per line; the first is the default. Leave empty to allow all streams."
            placeholder="transactional"
            value={streams}
            error={firstError(error, '/allowed_streams')}
            onChange={(allowed_streams) => onChange({ ...value, allowed_streams })}
          />
        </div>
      </details>
    </div>
  );
}

function ScopeSelect({
  mode,
  value,
  onChange,
}: {
  mode: Mode;
  value: Scope[];
  onChange: (next: Scope[]) => void;
}) {
  const [preset, setPreset] = useState<Preset>(presetOf(value, mode));
  const can = useCan();
  const granted = (scopes: readonly Scope[]) => scopes.filter((scope) => can(scope));
  const toggle = (scope: Scope) => (on: boolean) =>
    onChange(on ? [...value, scope] : value.filter((one) => one !== scope));
  return (
    <div className="grid gap-2">
      <Field label="Permissions">
        <Select
          value={preset}
          onChange={(event) => {
            const next = event.target.value as Preset;
            setPreset(next);
            if (next !== 'custom') onChange(granted(PRESETS[next].scopes));
          }}
        >
          {Object.entries(PRESETS).map(([id, { label }]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
          <option value="custom">Custom</option>
        </Select>
      </Field>
      {preset === 'custom' ? (
        <fieldset className="rounded-lg border border-line">
          <legend className="sr-only">Scopes</legend>
          {SCOPE_ROWS.map(({ label, read, write }) => (
            <div
              key={label}
              className="grid grid-cols-[1fr_4.5rem_4.5rem] items-center border-b border-line px-3 py-1.5 text-sm last:border-b-0"
            >
              <span>{label}</span>
              {read ? (
                <Checkbox
                  label="Read"
                  aria-label={read}
                  checked={value.includes(read)}
                  disabled={!can(read)}
                  onChange={toggle(read)}
                />
              ) : (
                <span />
              )}
              {write && isAvailable(write, mode) ? (
                <Checkbox
                  label={write === 'send:transactional' ? 'Send' : 'Write'}
                  aria-label={write}
                  checked={value.includes(write)}
                  disabled={!can(write)}
                  onChange={toggle(write)}
                />
              ) : (
                <span />
              )}
            </div>
          ))}
        </fieldset>
      ) : (
        <p className="text-xs text-faint">{PRESETS[preset].hint}</p>
      )}
    </div>
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIMES = [30, 90, 365];

function Expiry({
  value,
  error,
  onChange,
}: {
  value: string | null;
  error: string | undefined;
  onChange: (next: string | null) => void;
}) {
  const [choice, setChoice] = useState(value === null ? 'never' : 'date');
  return (
    <Field label="Expires" error={error}>
      <div className="flex gap-2">
        <Select
          aria-label="Expires"
          value={choice}
          onChange={(event) => {
            const next = event.target.value;
            setChoice(next);
            if (next === 'never') onChange(null);
            else if (next !== 'date') onChange(inDays(Number(next)));
            else onChange(value ?? inDays(30));
          }}
        >
          <option value="never">Never</option>
          {LIFETIMES.map((days) => (
            <option key={days} value={String(days)}>
              In {days === 365 ? '1 year' : `${days} days`}
            </option>
          ))}
          <option value="date">On a specific date</option>
        </Select>
        {choice === 'date' && (
          <TextInput
            type="date"
            aria-label="Expiration date"
            required
            value={value === null ? '' : localTime(value).slice(0, 10)}
            onChange={(event) => {
              const chosen = event.target.valueAsDate;
              if (chosen) onChange(startOfLocalDay(chosen));
            }}
          />
        )}
      </div>
    </Field>
  );
}

/** The local start of a day; a date input returns it as if in UTC. */
function startOfLocalDay(day: Date): string {
  return new Date(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()).toISOString();
}

function inDays(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString();
}

function LinesField({
  value,
  onChange,
  error,
  ...rest
}: {
  label: string;
  hint: string;
  placeholder: string;
  value: string[];
  error: string | undefined;
  onChange: (next: string[]) => void;
}) {
  const [text, setText] = useState(value.join('\n'));
  return (
    <Field label={rest.label} hint={rest.hint} error={error}>
      <TextArea
        mono
        rows={2}
        placeholder={rest.placeholder}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onChange(event.target.value.split(/[\s,]+/).filter((line) => line !== ''));
        }}
      />
    </Field>
  );
}

function firstError(error: unknown, pointer: string): string | undefined {
  for (let index = 0; index < 100; index += 1) {
    const found = fieldError(error, `${pointer}/${index}`);
    if (found) return found;
  }
  return fieldError(error, pointer);
}

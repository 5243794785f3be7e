import { Braces } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Checkbox, Field, Select, TextInput } from '../../components/field.tsx';
import { useCan } from '../../session/session.ts';
import type { TemplateVariable } from './content-api.ts';
import type { Draft } from './use-draft.ts';

const TYPES = ['string', 'number', 'boolean', 'date', 'list', 'object'] as const;

/** The template's variables: inferred from placeholders and refined by users. */
export function VariablesPanel({
  draft,
  variables,
}: {
  draft: Draft;
  variables: readonly TemplateVariable[];
}) {
  const [open, setOpen] = useState<TemplateVariable>();
  const canWrite = useCan()('write:templates');
  if (variables.length === 0) {
    return (
      <EmptyState icon={Braces} title="No variables">
        Use <code className="font-mono text-xs">{'{{ first_name }}'}</code> or{' '}
        <code className="font-mono text-xs">{'${first_name}'}</code> in the content and it appears
        here.
      </EmptyState>
    );
  }
  const save = (changed: TemplateVariable) => {
    const others = draft.stored.variables.filter(({ name }) => name !== changed.name);
    draft.set({ variables: [...others, { ...changed, inferred: false }] });
    draft.saveNow().catch(() => {});
    setOpen(undefined);
  };
  return (
    <>
      <ul className="divide-y divide-line rounded-xl border border-line">
        {variables.map((variable) => (
          <li
            key={variable.name}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-sm"
          >
            <code className="font-mono text-xs font-medium">{variable.name}</code>
            <span className="text-xs text-faint">{variable.type}</span>
            {variable.required ? <Badge tone="info">Required</Badge> : <Badge>Optional</Badge>}
            {variable.secret && <Badge tone="plum">Secret</Badge>}
            {variable.example !== null && (
              <span
                className="max-w-48 truncate text-xs text-soft"
                title={asText(variable.example)}
              >
                e.g. {asText(variable.example)}
              </span>
            )}
            {canWrite && (
              <Button
                size="small"
                kind="quiet"
                className="ml-auto"
                aria-label={`Edit ${variable.name}`}
                onClick={() => setOpen(variable)}
              >
                Edit
              </Button>
            )}
            {variable.description && (
              <p className="w-full text-xs text-soft">{variable.description}</p>
            )}
          </li>
        ))}
      </ul>
      {open && <EditVariable variable={open} onSave={save} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function EditVariable({
  variable,
  onSave,
  onClose,
}: {
  variable: TemplateVariable;
  onSave: (changed: TemplateVariable) => void;
  onClose: () => void;
}) {
  const [form, setForm] = useState({
    type: variable.type,
    required: variable.required,
    secret: variable.secret,
    example: asText(variable.example),
    fallback: asText(variable.default),
    description: variable.description ?? '',
  });
  return (
    <Dialog title={variable.name} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSave({
            ...variable,
            type: form.type,
            required: form.required,
            secret: form.secret,
            example: asValue(form.example, form.type),
            default: asValue(form.fallback, form.type),
            description: form.description.trim() || null,
          });
        }}
      >
        <Field label="Type">
          <Select
            value={form.type}
            onChange={(event) =>
              setForm({ ...form, type: event.target.value as TemplateVariable['type'] })
            }
          >
            {TYPES.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </Select>
        </Field>
        <Field label="Example" hint="Used in previews and tests. Enter lists and objects as JSON.">
          <TextInput
            value={form.example}
            onChange={(event) => setForm({ ...form, example: event.target.value })}
          />
        </Field>
        <Field label="Default" optional hint="Used when a request has no value.">
          <TextInput
            value={form.fallback}
            onChange={(event) => setForm({ ...form, fallback: event.target.value })}
          />
        </Field>
        <Field label="Description" optional>
          <TextInput
            value={form.description}
            onChange={(event) => setForm({ ...form, description: event.target.value })}
          />
        </Field>
        <Checkbox
          label="Required"
          hint="Requests without it are rejected."
          checked={form.required}
          onChange={(required) => setForm({ ...form, required })}
        />
        <Checkbox
          label="Secret"
          hint="For reset links and one-time codes. Only the recipient sees the value."
          checked={form.secret}
          onChange={(secret) => setForm({ ...form, secret })}
        />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

export function asText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Parses the input for its type; invalid input stays text, which the API rejects. */
function asValue(text: string, type: TemplateVariable['type']): unknown {
  if (text.trim() === '') return null;
  if (type === 'string' || type === 'date') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

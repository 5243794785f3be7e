import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Eraser, Mail, Trash2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { Button, buttonClass } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextArea, TextInput } from '../../components/field.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { formatCount } from '../../lib/format.ts';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { useCan } from '../../session/session.ts';
import type { Contact } from './contacts.tsx';

const FIELDS = ['/email', '/first_name', '/last_name', '/locale', '/attributes'];

/** One contact: read, changed, deleted, or erased with everything that names the address. */
export function ContactSheet({ email, onClose }: { email: string; onClose: () => void }) {
  const { api, key } = useApi();
  const query = useQuery({
    queryKey: key('contact', email),
    queryFn: () => unwrap(api.GET('/api/v1/contacts/{email}', { params: { path: { email } } })),
  });
  return (
    <Dialog title={query.data?.email ?? email} onClose={onClose} side>
      {query.isPending ? (
        <SkeletonRows rows={5} />
      ) : query.isLoadingError ? (
        <ErrorAlert error={query.error} />
      ) : (
        <EditContact contact={query.data} onClose={onClose} />
      )}
    </Dialog>
  );
}

function EditContact({ contact, onClose }: { contact: Contact; onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const mayWrite = useCan()('write:contacts');
  // What is compared with is what the form began with: the contact may change under it.
  const [before] = useState(contact);
  const [form, setForm] = useState(() => formOf(before));
  const [bad, setBad] = useState<string>();
  const params = { path: { email: contact.email } };
  const changed = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['contacts'] }),
      queries.invalidateQueries({ queryKey: ['contact'] }),
    ]);
  const saving = useMutation({
    mutationFn: (attributes: Record<string, unknown>) =>
      unwrap(
        api.PATCH('/api/v1/contacts/{email}', {
          params,
          body: {
            ...changesOf({ ...before }, textsOf(form)),
            attributes: {
              ...changesOf(before.attributes, attributes),
              // Names that are gone from the text are removed.
              ...Object.fromEntries(
                Object.keys(before.attributes)
                  .filter((name) => !(name in attributes))
                  .map((name) => [name, null]),
              ),
            },
          },
        }),
      ),
    onSuccess: async () => {
      await changed();
      showToast('The contact is saved.');
      onClose();
    },
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    const attributes = parseAttributes(form.attributes);
    setBad(attributes === undefined ? NOT_JSON : undefined);
    if (attributes) saving.mutate(attributes);
  };
  const remove = () =>
    requestConfirmation({
      title: `Delete ${contact.email}?`,
      body: 'What placeholders know of this address is forgotten. Messages already sent stay as they are.',
      confirmLabel: 'Delete contact',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/contacts/{email}', { params }));
        await changed();
        onClose();
        showToast('The contact is deleted.');
      },
    });
  return (
    <>
      <form onSubmit={save}>
        <fieldset disabled={!mayWrite}>
          <ContactFields form={form} onChange={setForm} error={saving.error} bad={bad} />
        </fieldset>
        {saving.isError && !hasOnlyFieldErrors(saving.error, FIELDS) && (
          <ErrorAlert error={saving.error} className="mt-4" />
        )}
        {mayWrite && (
          <DialogButtons>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary" busy={saving.isPending}>
              Save
            </Button>
          </DialogButtons>
        )}
      </form>
      <div className="mt-6 grid gap-3 border-t border-line pt-4 text-sm">
        <p className="text-xs text-faint">
          Added <Time at={contact.created_at} />, changed <Time at={contact.updated_at} />
        </p>
        <div className="flex flex-wrap gap-2">
          <Link
            to="/messages"
            search={{ recipient: contact.email }}
            className={buttonClass('plain', 'small')}
          >
            <Mail className="size-3.5" aria-hidden />
            Messages to this address
          </Link>
          {mayWrite && (
            <>
              <Button size="small" kind="danger-quiet" icon={Trash2} onClick={remove}>
                Delete
              </Button>
              <EraseButton email={contact.email} onErased={onClose} />
            </>
          )}
        </div>
      </div>
    </>
  );
}

/** The right to be forgotten: the address goes from messages, attempts and events too. */
function EraseButton({ email, onErased }: { email: string; onErased: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const erase = () =>
    requestConfirmation({
      title: `Erase ${email} everywhere?`,
      body: 'The address is forgotten in messages, their content, attempts and events, and in the test inbox; what still waits for it is cancelled. Counts stay as they are. This cannot be undone.',
      confirmLabel: 'Erase for good',
      typeToConfirm: email,
      run: async () => {
        const done = await unwrap(
          api.DELETE('/api/v1/contacts/{email}', {
            params: { path: { email }, query: { erase: true } },
          }),
        );
        await queries.invalidateQueries();
        onErased();
        const messages = done && 'messages' in done ? done.messages : 0;
        showToast(
          `Erased. ${formatCount(messages, 'message no longer names', 'messages no longer name')} it.`,
        );
      },
    });
  return (
    <Button size="small" kind="danger-quiet" icon={Eraser} onClick={erase}>
      Erase everywhere
    </Button>
  );
}

export function NewContact({ onClose }: { onClose: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [form, setForm] = useState(EMPTY);
  const [bad, setBad] = useState<string>();
  const adding = useMutation({
    mutationFn: (attributes: Record<string, unknown>) =>
      unwrap(
        api.POST('/api/v1/contacts', {
          body: { email: email.trim(), ...textsOf(form), attributes },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['contacts'] });
      showToast('The contact is added.');
      onClose();
    },
  });
  return (
    <Dialog title="Add a contact" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const attributes = parseAttributes(form.attributes);
          setBad(attributes === undefined ? NOT_JSON : undefined);
          if (attributes) adding.mutate(attributes);
        }}
      >
        <Field label="E-mail" error={fieldError(adding.error, '/email')} className="mb-4">
          <TextInput
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <ContactFields form={form} onChange={setForm} error={adding.error} bad={bad} />
        {adding.isError && !hasOnlyFieldErrors(adding.error, FIELDS) && (
          <ErrorAlert error={adding.error} className="mt-4" />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={adding.isPending}>
            Add
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

interface ContactForm {
  first_name: string;
  last_name: string;
  locale: string;
  attributes: string;
}

const EMPTY: ContactForm = { first_name: '', last_name: '', locale: '', attributes: '{}' };
const NOT_JSON = 'This is not a JSON object, such as {"plan": "pro"}.';

function formOf(contact: Contact): ContactForm {
  return {
    first_name: contact.first_name ?? '',
    last_name: contact.last_name ?? '',
    locale: contact.locale ?? '',
    attributes: JSON.stringify(contact.attributes, null, 2),
  };
}

function textsOf({ first_name, last_name, locale }: ContactForm) {
  return {
    first_name: first_name.trim() || null,
    last_name: last_name.trim() || null,
    locale: locale.trim() || null,
  };
}

/** Only what was changed here: the API keeps what it is not told of, and so what others wrote. */
function changesOf<T extends Record<string, unknown>>(
  before: Record<string, unknown>,
  after: T,
): Partial<T> {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed) as Partial<T>;
}

function parseAttributes(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function ContactFields({
  form,
  onChange,
  error,
  bad,
}: {
  form: ContactForm;
  onChange: (next: ContactForm) => void;
  error: unknown;
  bad: string | undefined;
}) {
  const set = (name: keyof ContactForm) => (event: { target: { value: string } }) =>
    onChange({ ...form, [name]: event.target.value });
  return (
    <div className="grid gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="First name" optional error={fieldError(error, '/first_name')}>
          <TextInput value={form.first_name} onChange={set('first_name')} />
        </Field>
        <Field label="Last name" optional error={fieldError(error, '/last_name')}>
          <TextInput value={form.last_name} onChange={set('last_name')} />
        </Field>
      </div>
      <Field
        label="Language"
        optional
        hint="A tag such as de-AT. It picks the template’s variant."
        error={fieldError(error, '/locale')}
      >
        <TextInput value={form.locale} onChange={set('locale')} />
      </Field>
      <Field
        label="Attributes"
        hint="JSON. Templates read an attribute named plan as {{ contact.plan }}."
        error={bad ?? fieldError(error, '/attributes')}
      >
        <TextArea
          mono
          rows={8}
          value={form.attributes}
          onChange={set('attributes')}
          spellCheck={false}
        />
      </Field>
    </div>
  );
}

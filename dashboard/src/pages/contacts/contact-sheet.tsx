import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Eraser, Mail, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Button, buttonClass } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextArea, TextInput } from '../../components/field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { useCan } from '../../session/session.ts';
import {
  SubscriptionFields,
  type SubscriptionForm,
  subscriptionPointer,
} from './subscription-fields.tsx';

export type Contact = Schema<'Contact'>;

const FIELDS = ['/email', '/first_name', '/last_name', '/locale', '/attributes'];

/** Views and edits a contact, deletes it, or erases all data about its address. */
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
  const canWrite = useCan()('write:contacts');
  // Compare with the initial values: the contact may change while the form is open.
  const [before] = useState(contact);
  const [form, setForm] = useState(() => formOf(before));
  const [subscriptions, setSubscriptions] = useState<SubscriptionForm>({});
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
            ...(Object.keys(subscriptions).length > 0 ? { subscriptions } : {}),
            attributes: {
              ...changesOf(before.attributes, attributes),
              // Attributes deleted from the text are removed.
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
      showToast('Contact saved.');
      onClose();
    },
  });
  const save = () => {
    const attributes = parseAttributes(form.attributes);
    setBad(attributes === undefined ? NOT_JSON : undefined);
    if (attributes) saving.mutate(attributes);
  };
  const remove = () =>
    requestConfirmation({
      title: `Delete ${contact.email}?`,
      body: 'Templates can no longer use the data of this contact. Sent messages are not affected.',
      confirmLabel: 'Delete contact',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/contacts/{email}', { params }));
        await changed();
        onClose();
        showToast('Contact deleted.');
      },
    });
  return (
    <>
      <DialogForm
        saving={{ ...saving, mutate: save }}
        fields={[...FIELDS, ...Object.keys(subscriptions).map(subscriptionPointer)]}
        submitLabel="Save"
        readOnly={!canWrite}
        onClose={onClose}
      >
        <fieldset disabled={!canWrite}>
          <ContactFields form={form} onChange={setForm} error={saving.error} bad={bad} />
          <SubscriptionFields
            contact={contact}
            chosen={subscriptions}
            onChange={setSubscriptions}
            error={saving.error}
          />
        </fieldset>
      </DialogForm>
      <div className="mt-6 grid gap-3 border-t border-line pt-4 text-sm">
        <p className="text-xs text-faint">
          Added <Time at={contact.created_at} />, updated <Time at={contact.updated_at} />
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
          {canWrite && (
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

/** GDPR erasure: removes the address from messages, attempts and events too. */
function EraseButton({ email, onErased }: { email: string; onErased: () => void }) {
  const { api } = useApi();
  const queries = useQueryClient();
  const erase = () =>
    requestConfirmation({
      title: `Erase all data about ${email}?`,
      body: 'Removes the address from messages, their content, attempts, events and the test inbox, and cancels queued messages to it. Statistics are kept. This can’t be undone.',
      confirmLabel: 'Erase permanently',
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
        showToast(`Erased from ${formatCount(messages, 'message')}.`);
      },
    });
  return (
    <Button size="small" kind="danger-quiet" icon={Eraser} onClick={erase}>
      Erase all data
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
      showToast('Contact added.');
      onClose();
    },
  });
  const add = () => {
    const attributes = parseAttributes(form.attributes);
    setBad(attributes === undefined ? NOT_JSON : undefined);
    if (attributes) adding.mutate(attributes);
  };
  return (
    <Dialog title="Add contact" onClose={onClose}>
      <DialogForm
        saving={{ ...adding, mutate: add }}
        fields={FIELDS}
        submitLabel="Add"
        onClose={onClose}
      >
        <Field label="Email" error={fieldError(adding.error, '/email')}>
          <TextInput
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            required
          />
        </Field>
        <ContactFields form={form} onChange={setForm} error={adding.error} bad={bad} />
      </DialogForm>
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
const NOT_JSON = 'Enter a JSON object, such as {"plan": "pro"}.';

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

/** Only the changed fields, so that concurrent changes to other fields are kept. */
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
        hint="A language tag such as de-AT. Selects the template’s language."
        error={fieldError(error, '/locale')}
      >
        <TextInput value={form.locale} onChange={set('locale')} />
      </Field>
      <Field
        label="Attributes"
        hint={
          <>
            JSON. Templates use an attribute named plan as{' '}
            <code className="whitespace-nowrap">{'{{ contact.plan }}'}</code>.
          </>
        }
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

import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert } from '../../components/alert.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, Select, TextArea, TextInput } from '../../components/field.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useMe } from '../../session/session.ts';
import { useSenderAddress } from '../api-keys/send-snippets.tsx';
import { languageLabel } from './content-editor.tsx';
import { exampleVariables } from './example-variables.ts';
import type { Draft } from './use-draft.ts';

const FIELDS = ['/to/email', '/from/email'];

/** Sends the draft as a real message: to the test inbox, or in live mode to a real address. */
export function TestSendDialog({
  draft,
  locale: edited,
  onClose,
}: {
  draft: Draft;
  /** The language that is being edited. */
  locale: string | null;
  onClose: () => void;
}) {
  const { api, selection } = useApi();
  const me = useMe();
  const navigate = useNavigate();
  const [to, setTo] = useState(me.email);
  const [typedFrom, setTypedFrom] = useState(draft.fields.from?.email);
  const suggested = useSenderAddress(draft.fields.from === null);
  const from = typedFrom ?? suggested;
  const [locale, setLocale] = useState(edited ?? '');
  const [examples] = useState(() => formatValues(exampleVariables(draft.stored.variables)));
  const [typedVariables, setVariables] = useState<string>();
  const variables = typedVariables === undefined ? undefined : parseObject(typedVariables);
  const locales = Object.keys(draft.stored.locales);
  const sending = useMutation({
    mutationFn: async () => {
      await draft.saveNow();
      return unwrap(
        api.POST('/api/v1/templates/{key}/test-send', {
          params: { path: { key: draft.stored.key } },
          body: {
            to: { email: to.trim() },
            ...(from.trim() ? { from: { email: from.trim() } } : {}),
            ...(variables ? { variables } : {}),
            ...(locale === '' ? {} : { locale }),
          },
        }),
      );
    },
    onSuccess: ({ id }) => {
      onClose();
      showToast('Test sent.', {
        label: 'View',
        run: () =>
          void (selection.mode === 'test'
            ? navigate({ to: '/test-inbox', search: { id } })
            : navigate({ to: '/messages/$id', params: { id } })),
      });
    },
  });
  return (
    <Dialog title="Send test" description="Sends the draft as a message." onClose={onClose}>
      <DialogForm
        saving={sending}
        fields={FIELDS}
        submitLabel="Send"
        disabled={variables === null}
        onClose={onClose}
      >
        {selection.mode === 'live' && (
          <Alert tone="warn" title="You’re in live mode: this sends a real email" />
        )}
        <Field label="To" error={fieldError(sending.error, '/to/email')}>
          <TextInput
            type="email"
            value={to}
            onChange={(event) => setTo(event.target.value)}
            required
          />
        </Field>
        <Field
          label="From"
          optional={draft.fields.from !== null}
          error={fieldError(sending.error, '/from/email')}
        >
          <TextInput
            type="email"
            value={from}
            onChange={(event) => setTypedFrom(event.target.value)}
            placeholder="hello@yourdomain.com"
            required={draft.fields.from === null}
          />
        </Field>
        {locales.length > 0 && (
          <Field label="Language">
            <Select value={locale} onChange={(event) => setLocale(event.target.value)}>
              <option value="">Default language</option>
              {locales.map((one) => (
                <option key={one} value={one}>
                  {languageLabel(one)}
                </option>
              ))}
            </Select>
          </Field>
        )}
        {examples !== '{}' && (
          <Field
            label="Variables"
            hint="JSON, filled with the example values."
            error={variables === null ? 'Enter a JSON object.' : undefined}
          >
            <TextArea
              mono
              rows={Math.min(examples.split('\n').length, 10)}
              value={typedVariables ?? examples}
              onChange={(event) => setVariables(event.target.value)}
            />
          </Field>
        )}
      </DialogForm>
    </Dialog>
  );
}

function formatValues(values: Record<string, unknown>): string {
  return JSON.stringify(values, null, 2);
}

/** Null if the text is not a JSON object. */
function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

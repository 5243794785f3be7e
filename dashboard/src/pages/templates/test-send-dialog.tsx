import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { fieldError, hasOnlyFieldErrors } from '../../api/problem.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { showToast } from '../../layout/toasts.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { useMe } from '../../session/session.ts';
import type { Draft } from './use-draft.ts';

const FIELDS = ['/to/email', '/from/email'];

/** The draft as a real message: into the test inbox, or in live mode to a real address. */
export function TestSendDialog({ draft, onClose }: { draft: Draft; onClose: () => void }) {
  const { api, selection: place } = useApi();
  const me = useMe();
  const navigate = useNavigate();
  const [to, setTo] = useState(me.email);
  const [written, setFrom] = useState(draft.fields.from?.email);
  const suggested = useSuggestedSender(draft.fields.from === null);
  const from = written ?? suggested;
  const sending = useMutation({
    mutationFn: async () => {
      await draft.saveNow();
      return unwrap(
        api.POST('/api/v1/templates/{key}/test-send', {
          params: { path: { key: draft.stored.key } },
          body: {
            to: { email: to.trim() },
            ...(from.trim() ? { from: { email: from.trim() } } : {}),
          },
        }),
      );
    },
    onSuccess: ({ id }) => {
      onClose();
      showToast('The test is on its way.', {
        label: 'Look',
        run: () =>
          void (place.mode === 'test'
            ? navigate({ to: '/test-inbox', search: { id } })
            : navigate({ to: '/messages/$id', params: { id } })),
      });
    },
  });
  return (
    <Dialog
      title="Send a test"
      description="The draft, with the examples of its variables."
      onClose={onClose}
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          sending.mutate();
        }}
      >
        {place.mode === 'live' && (
          <Alert tone="warn" title="You are in live mode: this mail really goes out" />
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
            onChange={(event) => setFrom(event.target.value)}
            placeholder="hello@yourdomain.com"
            required={draft.fields.from === null}
          />
        </Field>
        {sending.isError && !hasOnlyFieldErrors(sending.error, FIELDS) && (
          <ErrorAlert error={sending.error} />
        )}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={sending.isPending}>
            Send
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** An address on a domain of the workspace, best one that may send; empty when there is none. */
function useSuggestedSender(wanted: boolean): string {
  const { api, key } = useApi();
  const domains = useQuery({
    queryKey: key('domains', 'of senders'),
    queryFn: () => fetchAllRows((query) => unwrap(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: wanted,
  });
  const rows = domains.data ?? [];
  const domain = rows.find(({ status }) => status === 'verified') ?? rows[0];
  return domain ? `hello@${domain.name}` : '';
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { fieldError, isAboutFields } from '../../api/problem.ts';
import { everyRow } from '../../api/use-pages.ts';
import { tell } from '../../frame/toasts.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Field, TextInput } from '../../parts/field.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { useMe } from '../../session/session.ts';
import type { Draft } from './use-draft.ts';

const FIELDS = ['/to/email', '/from/email'];

/** The draft as a real message: into the test inbox, or in live mode to a real address. */
export function TestSendDialog({ draft, onClose }: { draft: Draft; onClose: () => void }) {
  const { api, place } = useHere();
  const me = useMe();
  const navigate = useNavigate();
  const [to, setTo] = useState(me.email);
  const [written, setFrom] = useState(draft.fields.from?.email);
  const suggested = useSuggestedSender(draft.fields.from === null);
  const from = written ?? suggested;
  const sending = useMutation({
    mutationFn: async () => {
      await draft.saveNow();
      return ask(
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
      tell('The test is on its way.', {
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
          <Note tone="warn" title="You are in live mode: this mail really goes out" />
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
        {sending.isError && !isAboutFields(sending.error, FIELDS) && (
          <ProblemNote error={sending.error} />
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
  const { api, key } = useHere();
  const domains = useQuery({
    queryKey: key('domains', 'of senders'),
    queryFn: () => everyRow((query) => ask(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: wanted,
  });
  const rows = domains.data ?? [];
  const domain = rows.find(({ status }) => status === 'verified') ?? rows[0];
  return domain ? `hello@${domain.name}` : '';
}

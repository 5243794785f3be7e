import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { DialogForm } from '../../components/dialog-form.tsx';
import { Field, TextArea, TextInput } from '../../components/field.tsx';
import { showToast } from '../../layout/toasts.tsx';
import { useExampleAddress } from './use-domains.ts';

export interface SimulatedReply {
  /** The id of the message that it answers. */
  messageId: string;
  from: string;
  to: string;
  subject: string;
}

const FIELDS = ['/from/email', '/to/email', '/subject', '/text'];

/** Composes an inbound message in test mode; `reply` fills in the addresses of a reply. */
export function SimulateDialog({
  reply,
  onClose,
}: {
  reply?: SimulatedReply;
  onClose: () => void;
}) {
  const { api } = useApi();
  const queries = useQueryClient();
  const exampleAddress = useExampleAddress();
  const [from, setFrom] = useState(reply?.from ?? '');
  const [to, setTo] = useState(reply?.to ?? '');
  const [subject, setSubject] = useState(reply ? `Re: ${reply.subject}` : '');
  const [text, setText] = useState('');
  const simulating = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/inbound-messages/simulate', {
          body: {
            from: { email: from.trim() },
            to: { email: to.trim() },
            subject,
            text,
            ...(reply ? { in_reply_to_message_id: reply.messageId } : {}),
          },
        }),
      ),
    onSuccess: async () => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['inbound-messages'] }),
        queries.invalidateQueries({ queryKey: ['replies'] }),
      ]);
      showToast('Message simulated.');
      onClose();
    },
  });
  return (
    <Dialog
      title={reply ? 'Simulate reply' : 'Simulate inbound message'}
      description="It is stored and sent to test webhooks as if it had arrived from outside."
      onClose={onClose}
    >
      <DialogForm saving={simulating} fields={FIELDS} submitLabel="Simulate" onClose={onClose}>
        <Field label="From" error={fieldError(simulating.error, '/from/email')}>
          <TextInput
            type="email"
            value={from}
            onChange={(event) => setFrom(event.target.value)}
            placeholder="jane@example.com"
            required
          />
        </Field>
        <Field
          label="To"
          hint={
            <>
              Any address at one of your{' '}
              <Link to="/domains" className="underline">
                domains
              </Link>
              , verified or not.
            </>
          }
          error={fieldError(simulating.error, '/to/email')}
        >
          <TextInput
            type="email"
            value={to}
            onChange={(event) => setTo(event.target.value)}
            placeholder={exampleAddress}
            required
          />
        </Field>
        <Field label="Subject" error={fieldError(simulating.error, '/subject')}>
          <TextInput value={subject} onChange={(event) => setSubject(event.target.value)} />
        </Field>
        <Field label="Text" error={fieldError(simulating.error, '/text')}>
          <TextArea rows={5} value={text} onChange={(event) => setText(event.target.value)} />
        </Field>
      </DialogForm>
    </Dialog>
  );
}

import { useMutation } from '@tanstack/react-query';
import { CircleCheck, CircleX } from 'lucide-react';
import { useState } from 'react';
import { ask, type Schema } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { Dialog, DialogButtons } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { formatNumber } from '../../parts/size.ts';
import { EventTypeSelect } from '../events/event-type-select.tsx';
import { type EventType, meaningOf } from '../events/event-types.ts';
import { prettyJson } from '../events/pretty-json.ts';
import type { Webhook } from './endpoint-state.tsx';
import { RequestAndAnswer } from './try.tsx';

/** A sample, now, and what the receiver says to it. */
export function TestWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useHere();
  const [type, setType] = useState<EventType>('message.delivered');
  const testing = useMutation({
    mutationFn: () =>
      ask(
        api.POST('/api/v1/webhooks/{id}/test', {
          params: { path: { id: webhook.id } },
          body: { type },
        }),
      ),
  });
  return (
    <Dialog
      title="Send a test event"
      description="A sample, signed like any event, sent once. It is in no list."
      onClose={onClose}
      wide
    >
      <form
        className="grid grid-cols-[minmax(0,1fr)] gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          testing.mutate();
        }}
      >
        <div className="flex flex-wrap items-end gap-2">
          <Field label="Type of event" className="min-w-52 flex-1">
            <EventTypeSelect value={type} onChange={(next) => setType(next as EventType)} />
          </Field>
          <Button type="submit" kind="primary" busy={testing.isPending}>
            {testing.data ? 'Send once more' : 'Send'}
          </Button>
        </div>
        <p className="-mt-2 text-xs text-faint">{meaningOf(type)}</p>
        {testing.isError && <ProblemNote error={testing.error} />}
        {testing.data && <Answer result={testing.data} />}
      </form>
      <DialogButtons>
        <Button onClick={onClose}>Done</Button>
      </DialogButtons>
    </Dialog>
  );
}

function Answer({ result }: { result: Schema<'WebhookTestResult'> }) {
  const took = `${formatNumber(result.duration_ms)} ms`;
  const Icon = result.succeeded ? CircleCheck : CircleX;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4" aria-live="polite">
      <Note
        tone={result.succeeded ? 'good' : 'bad'}
        title={
          result.succeeded
            ? `Received: it answered ${result.status} in ${took}.`
            : (result.error ?? `It answered ${result.status}.`)
        }
        icon={<Icon className="mt-0.5 size-4 shrink-0" aria-hidden />}
      />
      <RequestAndAnswer
        url={result.url}
        headers={result.request_headers}
        status={result.status}
        error={null}
        answer={result.response_body}
      />
      <details>
        <summary className="text-xs font-medium text-faint">The body we sent</summary>
        <div className="mt-2">
          <CodeBlock label="body" code={prettyJson(result.body)} wrap />
        </div>
      </details>
    </div>
  );
}

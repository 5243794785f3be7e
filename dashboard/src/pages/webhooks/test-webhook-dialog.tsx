import { useMutation } from '@tanstack/react-query';
import { CircleCheck, CircleX } from 'lucide-react';
import { useState } from 'react';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { formatNumber } from '../../lib/format.ts';
import { EventTypeSelect } from '../events/event-type-select.tsx';
import { type EventType, describeEventType } from '../events/event-types.ts';
import { prettyJson } from '../events/pretty-json.ts';
import type { Webhook } from './endpoint-status.tsx';
import { RequestAndResponse } from './delivery-attempt.tsx';

/** A sample, now, and what the receiver says to it. */
export function TestWebhookDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useApi();
  const [type, setType] = useState<EventType>('message.delivered');
  const testing = useMutation({
    mutationFn: () =>
      unwrap(
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
        <p className="-mt-2 text-xs text-faint">{describeEventType(type)}</p>
        {testing.isError && <ErrorAlert error={testing.error} />}
        {testing.data && <TestResult result={testing.data} />}
      </form>
      <DialogButtons>
        <Button onClick={onClose}>Done</Button>
      </DialogButtons>
    </Dialog>
  );
}

function TestResult({ result }: { result: Schema<'WebhookTestResult'> }) {
  const took = `${formatNumber(result.duration_ms)} ms`;
  const Icon = result.succeeded ? CircleCheck : CircleX;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4" aria-live="polite">
      <Alert
        tone={result.succeeded ? 'good' : 'bad'}
        title={
          result.succeeded
            ? `Received: it answered ${result.status} in ${took}.`
            : (result.error ?? `It answered ${result.status}.`)
        }
        icon={<Icon className="mt-0.5 size-4 shrink-0" aria-hidden />}
      />
      <RequestAndResponse
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

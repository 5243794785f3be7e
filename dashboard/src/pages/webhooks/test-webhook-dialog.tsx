import { useMutation } from '@tanstack/react-query';
import { CircleCheck, CircleX } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { formatJson, formatNumber } from '../../lib/format.ts';
import { EventTypeSelect } from '../events/event-type-select.tsx';
import { describeEventType, type EventType, selectsAuditEvents } from '../events/event-types.ts';
import { RequestAndResponse } from './delivery-attempt.tsx';
import type { Webhook } from './endpoint-status.tsx';

/** Sends a sample event and shows the response. */
export function TestWebhookDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { api } = useApi();
  const [type, setType] = useState<EventType>(
    selectsAuditEvents(webhook.events) ? 'audit.recorded' : 'message.delivered',
  );
  const testing = useMutation({
    mutationFn: (wanted: EventType | 'subscription_confirmation') =>
      unwrap(
        api.POST('/api/v1/webhooks/{id}/test', {
          params: { path: { id: webhook.id } },
          body: { type: wanted },
        }),
      ),
  });
  return (
    <Dialog
      title="Send test event"
      description="Sends a signed sample event once. It is not listed among the deliveries."
      onClose={onClose}
      wide
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          testing.mutate(type);
        }}
      >
        <div className="flex flex-wrap items-end gap-2">
          <Field label="Event type" className="min-w-52 flex-1">
            <EventTypeSelect value={type} onChange={(next) => setType(next as EventType)} />
          </Field>
          <Button type="submit" kind="primary" busy={testing.isPending}>
            {testing.data ? 'Send again' : 'Send'}
          </Button>
          {webhook.format === 'ses-sns' && (
            <Button
              disabled={testing.isPending}
              onClick={() => testing.mutate('subscription_confirmation')}
            >
              Send confirmation
            </Button>
          )}
        </div>
        {!testing.data && <p className="-mt-2 text-xs text-faint">{describeEventType(type)}</p>}
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
    <div className="grid gap-4" aria-live="polite">
      <Alert
        tone={result.succeeded ? 'good' : 'bad'}
        title={
          result.succeeded
            ? `Your endpoint responded with ${result.status} in ${took}.`
            : (result.error ?? `Your endpoint responded with ${result.status}.`)
        }
        icon={<Icon className="mt-0.5 size-4 shrink-0" aria-hidden />}
      />
      <RequestAndResponse
        url={result.url}
        headers={result.request_headers}
        status={result.status}
        error={null}
        responseBody={result.response_body}
      />
      <details>
        <summary className="text-xs font-medium text-faint">Payload</summary>
        <div className="mt-2">
          <CodeBlock label="Payload" language="json" code={formatJson(result.body)} wrap />
        </div>
      </details>
    </div>
  );
}

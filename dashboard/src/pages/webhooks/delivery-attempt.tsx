import type { Schema } from '../../api/client.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { ExactTime } from '../../components/time.tsx';
import { formatJson, formatNumber } from '../../lib/format.ts';
import { HttpStatus } from './deliveries.tsx';

/** One webhook request and its response. */
export function DeliveryAttempt({
  one: attempt,
  open,
}: {
  one: Schema<'WebhookTry'>;
  open: boolean;
}) {
  return (
    <details open={open} className="rounded-xl border border-line">
      <summary className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl px-4 py-2.5 text-sm">
        <span className="font-medium">Attempt {attempt.number}</span>
        <span className="text-xs">
          <HttpStatus status={attempt.status} />
        </span>
        <span className="min-w-0 flex-1 basis-40 truncate text-soft">
          {attempt.error ?? 'Delivered.'}
        </span>
        <span className="flex gap-3 text-xs text-faint">
          <span>{formatNumber(attempt.duration_ms)} ms</span>
          <ExactTime at={attempt.started_at} />
        </span>
      </summary>
      <div className="grid gap-4 border-t border-line px-4 py-3">
        <RequestAndResponse
          url={attempt.url}
          headers={attempt.request_headers}
          status={attempt.status}
          error={attempt.error}
          responseBody={attempt.response_body}
        />
      </div>
    </details>
  );
}

export function RequestAndResponse({
  url,
  headers,
  status,
  error,
  responseBody,
}: {
  url: string;
  headers: Record<string, string>;
  status: number | null;
  error: string | null;
  responseBody: string | null;
}) {
  return (
    <>
      <div className="min-w-0">
        <h3 className="mb-1.5 text-xs font-medium text-faint">Request</h3>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 font-mono text-xs leading-5">
          <dt className="text-accent-ink">POST</dt>
          <dd className="break-all">{url}</dd>
          {Object.entries(headers).map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-faint">{name}</dt>
              <dd className={value === '[hidden]' ? 'text-faint' : 'break-all'}>
                {value === '[hidden]' ? 'hidden' : value}
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <div className="min-w-0">
        <h3 className="mb-1.5 text-xs font-medium text-faint">
          Response{' '}
          <span className="ml-1">
            <HttpStatus status={status} />
          </span>
        </h3>
        {error !== null && <p className="mb-2 text-sm">{error}</p>}
        {responseBody ? (
          <CodeBlock
            label="Response body"
            language={/^\s*[[{]/.test(responseBody) ? 'json' : undefined}
            code={formatJson(responseBody)}
            wrap
          />
        ) : (
          status !== null && <p className="text-xs text-faint">Empty body.</p>
        )}
      </div>
    </>
  );
}

import type { ReactNode } from 'react';
import type { Schema } from '../../api/client.ts';
import { Badge, Dot, type Tone } from '../../components/badge.tsx';
import { Time } from '../../components/time.tsx';

export type Webhook = Schema<'Webhook'>;

export interface EndpointStatus {
  tone: Tone;
  label: string;
  /** Why, when it is not as it should be: in a few words, and in a sentence. */
  short?: ReactNode;
  explanation?: ReactNode;
}

/** How an endpoint is doing, in one word and a reason. */
export function endpointStatus(webhook: Webhook): EndpointStatus {
  if (!webhook.enabled)
    return {
      tone: 'plain',
      label: 'off',
      short: SHORT[webhook.disabled_reason ?? ''],
      explanation: disabledReason(webhook),
    };
  if (webhook.failing_since) {
    return {
      tone: 'warn',
      label: 'failing',
      short: (
        <>
          since <Time at={webhook.failing_since} />
        </>
      ),
      explanation: (
        <>
          It began to fail <Time at={webhook.failing_since} />, and nothing got through since then.
        </>
      ),
    };
  }
  return { tone: 'good', label: 'on' };
}

const SHORT: Record<string, string> = {
  gone: 'it answered 410',
  failing: 'failed for five days',
  manual: 'by hand',
};

function disabledReason({ disabled_reason, disabled_at }: Webhook): ReactNode {
  switch (disabled_reason) {
    case 'gone':
      return (
        <>
          It answered 410 <Time at={disabled_at} />, which means gone for good, so we stopped.
        </>
      );
    case 'failing':
      return (
        <>
          Nothing could be delivered for five days, so we stopped <Time at={disabled_at} />.
        </>
      );
    default:
      return disabled_at === null ? (
        'It was made switched off.'
      ) : (
        <>
          Somebody switched it off <Time at={disabled_at} />.
        </>
      );
  }
}

export function EndpointBadge({ webhook }: { webhook: Webhook }) {
  const { tone, label } = endpointStatus(webhook);
  return (
    <Badge tone={tone}>
      <Dot tone={tone} />
      {label}
    </Badge>
  );
}

/** The host is what people look for; scheme and path stand back. */
export function EndpointUrl({ url }: { url: string }) {
  const { protocol, host, pathname, search } = new URL(url);
  return (
    <>
      <span className="font-normal text-faint">{`${protocol}//`}</span>
      {host}
      <span className="font-normal text-soft">{`${pathname}${search}`.replace(/^\/$/, '')}</span>
    </>
  );
}

export function summarizeEvents(events: readonly string[]): string {
  if (events.includes('*')) return 'everything';
  const shown = events.slice(0, 2).join(', ');
  return events.length > 2 ? `${shown} and ${events.length - 2} more` : shown;
}

import type { ReactNode } from 'react';
import type { Schema } from '../../api/client.ts';
import { Badge, Dot, type Tone } from '../../components/badge.tsx';
import { ExactTime, Time } from '../../components/time.tsx';

export type Webhook = Schema<'Webhook'>;

export interface EndpointStatus {
  tone: Tone;
  label: string;
  /** The reason for a problem: a short phrase for lists, and a sentence. */
  short?: ReactNode;
  explanation?: ReactNode;
}

/** The status of an endpoint and its reason. */
export function endpointStatus(webhook: Webhook): EndpointStatus {
  if (!webhook.enabled)
    return {
      tone: 'plain',
      label: 'Disabled',
      short: SHORT[webhook.disabled_reason ?? ''],
      explanation: disabledReason(webhook),
    };
  if (webhook.failing_since) {
    return {
      tone: 'warn',
      label: 'Failing',
      short: (
        <>
          since <ExactTime at={webhook.failing_since} />
        </>
      ),
      explanation: (
        <>
          Failing since <ExactTime at={webhook.failing_since} />. No successful delivery since then.
        </>
      ),
    };
  }
  return { tone: 'good', label: 'Enabled' };
}

const SHORT: Record<string, string> = {
  gone: 'responded with 410',
  failing: 'failed for 5 days',
  manual: 'manually',
};

function disabledReason({ disabled_reason, disabled_at }: Webhook): ReactNode {
  switch (disabled_reason) {
    case 'gone':
      return (
        <>
          It responded with 410 Gone <Time at={disabled_at} />.
        </>
      );
    case 'failing':
      return (
        <>
          Disabled <Time at={disabled_at} /> after 5 days without a successful delivery.
        </>
      );
    default:
      return disabled_at === null ? (
        'It was created disabled.'
      ) : (
        <>
          It was disabled manually <Time at={disabled_at} />.
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

/** A URL with the host emphasized. */
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
  if (events.includes('*')) return 'All events';
  const shown = events.slice(0, 2).join(', ');
  return events.length > 2 ? `${shown} and ${events.length - 2} more` : shown;
}

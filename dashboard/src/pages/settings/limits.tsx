import { useQuery } from '@tanstack/react-query';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Detail, DetailList, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { formatBytes, formatCount, formatNumber } from '../../lib/format.ts';
import { UsageTable } from './usage-table.tsx';

type Limits = Schema<'Limits'>;

/** Labels of the limits; an unknown limit shows its API name. */
const LABELS: Partial<Record<keyof Limits, string>> = {
  requests_per_second: 'Requests per second',
  requests_burst: 'Burst limit',
  request_body_bytes: 'Request body',
  message_bytes: 'Encoded message',
  html_bytes: 'HTML part',
  text_bytes: 'Text part',
  subject_bytes: 'Subject',
  recipients: 'Recipients per message',
  batch_messages: 'Messages per batch',
  headers: 'Extra headers',
  header_bytes: 'Extra header size',
  metadata_pairs: 'Metadata pairs',
  tags: 'Tags',
  schedule_ahead_seconds: 'Scheduling horizon',
  retry_window_seconds: 'Retry window',
  idempotency_seconds: 'Idempotency key retention',
  content_retention_days: 'Content retention',
  record_retention_days: 'Message and event retention',
};

export function LimitsView() {
  const { api, key } = useApi();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => unwrap(api.GET('/api/v1/limits')),
    staleTime: 60_000,
  });
  const usage = useQuery({
    queryKey: key('usage'),
    queryFn: () => unwrap(api.GET('/api/v1/usage')),
  });
  if (limits.isPending || usage.isPending) return <SkeletonRows rows={8} />;
  if (limits.isLoadingError) return <ErrorAlert error={limits.error} />;
  return (
    <div className="grid max-w-2xl gap-4">
      <Section
        title="Usage"
        description="Live messages and contacts, and the content of all messages. Periods are in UTC."
      >
        {usage.isLoadingError ? (
          <ErrorAlert error={usage.error} onRetry={() => void usage.refetch()} />
        ) : (
          <UsageTable usage={usage.data} />
        )}
      </Section>
      <Section title="Limits and retention" description="Set by the operator of this server.">
        <DetailList>
          {Object.entries(limits.data).map(([name, value]) =>
            typeof value === 'number' ? (
              <Detail key={name} name={LABELS[name as keyof Limits] ?? name.replaceAll('_', ' ')}>
                {amount(name, value)}
              </Detail>
            ) : null,
          )}
        </DetailList>
      </Section>
    </div>
  );
}

const DAY_SECONDS = 86_400;

function amount(name: string, value: number): string {
  if (name.endsWith('_bytes')) return formatBytes(value);
  if (name.endsWith('_days')) return formatCount(value, 'day');
  if (!name.endsWith('_seconds')) return formatNumber(value);
  if (value % DAY_SECONDS === 0) return formatCount(value / DAY_SECONDS, 'day');
  return value % 3600 === 0 ? formatCount(value / 3600, 'hour') : formatCount(value, 'second');
}

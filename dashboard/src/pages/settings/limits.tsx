import { useQuery } from '@tanstack/react-query';
import { unwrap, type Schema } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Detail, DetailList, Section } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { formatCount, formatNumber, formatBytes } from '../../lib/format.ts';
import { SkeletonRows } from '../../components/skeleton.tsx';

type Limits = Schema<'Limits'>;

/** How much of each thing, in the words of a person; what is not named here shows under its own name. */
const LABELS: Partial<Record<keyof Limits, string>> = {
  requests_per_second: 'Requests a second',
  requests_burst: 'Requests at once after a rest',
  request_body_bytes: 'Request body',
  message_bytes: 'Message, encoded',
  html_bytes: 'html',
  text_bytes: 'text',
  subject_bytes: 'Subject',
  recipients: 'Recipients of a message',
  batch_messages: 'Messages in a batch',
  headers: 'Extra headers',
  header_bytes: 'One extra header',
  metadata_pairs: 'Metadata pairs',
  tags: 'Tags',
  schedule_ahead_seconds: 'Scheduled ahead',
  retry_window_seconds: 'Retries go on for',
  idempotency_seconds: 'Idempotency keys are kept for',
  content_retention_days: 'Contents are kept for',
  record_retention_days: 'Messages and events are kept for',
};

export function LimitsView() {
  const { api, key } = useApi();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => unwrap(api.GET('/api/v1/limits')),
    staleTime: 60_000,
  });
  if (limits.isPending) return <SkeletonRows rows={8} />;
  if (limits.isLoadingError) return <ErrorAlert error={limits.error} />;
  return (
    <div className="max-w-2xl">
      <Section
        title="Limits and retention"
        description="Set by the operator of this server, in its environment."
      >
        <DetailList>
          {Object.entries(limits.data).map(([name, value]) => (
            <Detail key={name} name={LABELS[name as keyof Limits] ?? name.replaceAll('_', ' ')}>
              {amount(name, Number(value))}
            </Detail>
          ))}
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

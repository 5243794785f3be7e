import { useQuery } from '@tanstack/react-query';
import { ask, type Schema } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { count, formatNumber, sizeInWords } from '../../parts/size.ts';
import { SkeletonRows } from '../../parts/skeleton.tsx';

type Limits = Schema<'Limits'>;

/** How much of each thing, in the words of a person; what is not named here shows under its own name. */
const WORDS: Partial<Record<keyof Limits, string>> = {
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
  const { api, key } = useHere();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: () => ask(api.GET('/api/v1/limits')),
    staleTime: 60_000,
  });
  if (limits.isPending) return <SkeletonRows rows={8} />;
  if (limits.isLoadingError) return <ProblemNote error={limits.error} />;
  return (
    <div className="max-w-2xl">
      <Section
        title="Limits and retention"
        description="Set by the operator of this server, in its environment."
      >
        <Facts>
          {Object.entries(limits.data).map(([name, value]) => (
            <Fact key={name} name={WORDS[name as keyof Limits] ?? name.replaceAll('_', ' ')}>
              {amount(name, Number(value))}
            </Fact>
          ))}
        </Facts>
      </Section>
    </div>
  );
}

const DAY_SECONDS = 86_400;

function amount(name: string, value: number): string {
  if (name.endsWith('_bytes')) return sizeInWords(value);
  if (name.endsWith('_days')) return count(value, 'day');
  if (!name.endsWith('_seconds')) return formatNumber(value);
  if (value % DAY_SECONDS === 0) return count(value / DAY_SECONDS, 'day');
  return value % 3600 === 0 ? count(value / 3600, 'hour') : count(value, 'second');
}

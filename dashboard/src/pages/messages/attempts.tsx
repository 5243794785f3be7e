import { useQuery } from '@tanstack/react-query';
import { Plug } from 'lucide-react';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { StatusBadge } from '../../components/badge.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { ExactTime } from '../../components/time.tsx';
import { classNames } from '../../lib/class-names.ts';

/** Every delivery attempt with its SMTP transcript. */
export function Attempts({ messageId }: { messageId: string }) {
  const { api, key } = useApi();
  const attempts = useQuery({
    queryKey: key('message', messageId, 'attempts'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/messages/{id}/attempts', { params: { path: { id: messageId } } })),
  });
  if (attempts.isPending) return <SkeletonRows rows={3} />;
  if (attempts.isError) return <ErrorAlert error={attempts.error} />;
  if (attempts.data.data.length === 0) {
    return (
      <EmptyState icon={Plug} title="No attempts yet">
        Each delivery attempt is listed here with its SMTP transcript.
      </EmptyState>
    );
  }
  return (
    <div className="grid gap-3">
      {attempts.data.data.toReversed().map((attempt, index) => (
        <AttemptCard
          key={`${attempt.recipient} ${attempt.number}`}
          attempt={attempt}
          open={index === 0}
        />
      ))}
    </div>
  );
}

function AttemptCard({ attempt, open }: { attempt: Schema<'Attempt'>; open: boolean }) {
  const tookMs = Date.parse(attempt.finished_at) - Date.parse(attempt.started_at);
  return (
    <details open={open} className="rounded-xl border border-line">
      <summary className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl px-4 py-2.5 text-sm">
        <span className="font-medium">Attempt {attempt.number}</span>
        <StatusBadge status={attempt.outcome} />
        <span className="min-w-0 break-words text-soft">{attempt.recipient}</span>
        <span className="flex min-w-0 basis-full flex-wrap gap-x-3 text-xs text-faint sm:ml-auto sm:basis-auto">
          {attempt.smtp?.mx && <span>{attempt.smtp.mx}</span>}
          <span>{tookMs} ms</span>
          <ExactTime at={attempt.started_at} />
        </span>
      </summary>
      <div className="overflow-x-auto border-t border-line px-4 py-3">
        {attempt.transcript.length === 0 ? (
          <p className="text-sm text-soft">
            No SMTP session: delivered directly to the test inbox.
          </p>
        ) : (
          <ol className="grid gap-0.5 font-mono text-xs leading-5">
            {attempt.transcript.map((line, index) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a transcript never change order.
                key={index}
                className="grid grid-cols-[4rem_1rem_minmax(0,1fr)] gap-2"
              >
                <span className="text-right text-faint">{Math.round(line.at_ms)} ms</span>
                <span
                  title={SIDES[line.side].title}
                  className={classNames('text-center', SIDES[line.side].tone)}
                >
                  <span aria-hidden>{SIDES[line.side].sign}</span>
                  <span className="sr-only">{SIDES[line.side].title}:</span>
                </span>
                <span className="break-words whitespace-pre-wrap">{line.text}</span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </details>
  );
}

const SIDES = {
  us: { sign: '→', title: 'Postrider', tone: 'text-accent-ink' },
  them: { sign: '←', title: 'Receiving server', tone: 'text-good' },
  note: { sign: '·', title: 'Note', tone: 'text-faint' },
} as const;

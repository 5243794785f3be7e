import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { formatDuration } from '../../lib/format.ts';
import { HttpStatusBadge } from './requests.tsx';
import { useRequestActor } from './use-requests.ts';

type Details = Schema<'LoggedRequestDetails'>;

const BACK = { to: '/requests', label: 'Request log' };

export function RequestPage() {
  const { id } = useParams({ from: '/inside/requests/$id' });
  const { api, key } = useApi();
  const request = useQuery({
    queryKey: key('requests', id),
    queryFn: () => unwrap(api.GET('/api/v1/requests/{id}', { params: { path: { id } } })),
  });
  if (request.isPending) return <SkeletonPage />;
  if (request.isError && toProblem(request.error).status === 404) {
    return <NotFound what="request" back={BACK} modes />;
  }
  if (request.isError) {
    return (
      <Page title="Request" back={BACK}>
        <ErrorAlert error={request.error} onRetry={() => void request.refetch()} />
      </Page>
    );
  }
  const { method, path, status, problem, query, body } = request.data;
  return (
    <Page
      title={`${method} ${path}`}
      heading={<span className="font-mono text-base break-all">{`${method} ${path}`}</span>}
      back={BACK}
      description={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <HttpStatusBadge status={status} />
          <Time at={request.data.created_at} className="text-faint" />
        </span>
      }
    >
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="grid min-w-0 gap-5">
          {problem === null ? <NoProblem request={request.data} /> : <Cause problem={problem} />}
          {query !== null && <Sent title="Query" value={query} />}
          {body !== null && body !== undefined && <Sent title="Request body" value={body} />}
        </div>
        <RequestDetails request={request.data} />
      </div>
    </Page>
  );
}

/** What went wrong, and what to do about it. */
function Cause({ problem }: { problem: NonNullable<Details['problem']> }) {
  const { errors = [] } = problem;
  // The detail of a single error is that of the problem.
  const listed = errors.length > 1 ? errors : [];
  return (
    <Alert tone="bad" title={problem.detail}>
      {listed.length > 0 && (
        <ul className="list-disc space-y-0.5 pl-4">
          {listed.map((one) => (
            <li key={`${one.pointer}${one.parameter}${one.code}${one.detail}`}>
              <code className="font-mono text-xs">{one.pointer ?? one.parameter}</code> {one.detail}
            </li>
          ))}
        </ul>
      )}
      <p>{problem.fix}</p>
      <p>
        <a href={problem.type} className="font-mono text-xs text-accent-ink hover:underline">
          {problem.code}
        </a>
      </p>
    </Alert>
  );
}

function NoProblem({ request }: { request: Details }) {
  if (request.status >= 400) return null;
  return (
    <p className="text-sm text-soft">
      The request succeeded. Bodies are kept for failed requests only
      {request.message_id === null ? '.' : '; the message has its content.'}
    </p>
  );
}

function Sent({ title, value }: { title: string; value: unknown }) {
  return (
    <section className="grid gap-3" aria-label={title}>
      <h2 className="text-sm font-semibold">
        {title} <span className="font-normal text-faint">without secrets, long values cut</span>
      </h2>
      <CodeBlock label={title} code={JSON.stringify(value, null, 2)} wrap />
    </section>
  );
}

function RequestDetails({ request }: { request: Details }) {
  const actorName = useRequestActor();
  return (
    <Section title="Details">
      <DetailList>
        <Detail name="Request ID">
          <CopyCode text={request.id} />
        </Detail>
        {request.message_id !== null && (
          <Detail name="Message">
            <Link
              to="/messages/$id"
              params={{ id: request.message_id }}
              className="block truncate font-mono text-xs text-accent-ink hover:underline"
            >
              {request.message_id}
            </Link>
          </Detail>
        )}
        <Detail name={request.api_key_id === null ? 'Member' : 'API key'}>
          {actorName(request.actor)}
        </Detail>
        <Detail name="Duration">{formatDuration(request.duration_ms)}</Detail>
        {request.operation !== null && (
          <Detail name="Operation">
            <code className="font-mono text-xs">{request.operation}</code>
          </Detail>
        )}
        <Detail name="IP address">
          <CopyCode text={request.ip} />
        </Detail>
        {request.user_agent !== '' && <Detail name="User agent">{request.user_agent}</Detail>}
      </DetailList>
    </Section>
  );
}

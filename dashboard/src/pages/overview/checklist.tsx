import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowRight, Check } from 'lucide-react';
import type { ReactNode } from 'react';
import { apiFor, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Section } from '../../components/page.tsx';
import { classNames } from '../../lib/class-names.ts';
import { readPreference, savePreference } from '../../lib/preferences.ts';
import { useCan } from '../../session/session.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { sendSnippets } from '../api-keys/snippet-code.ts';
import { SendTestMessage } from './send-test-message.tsx';

/** Setup steps up to the first live delivery; hidden once all are done. */
export function Checklist({ steps }: { steps: readonly Step[] }) {
  const next = steps.findIndex(({ done }) => !done);
  const done = steps.filter((step) => step.done).length;
  return (
    <Section
      title="Set up sending"
      description={`${done} of ${steps.length} done`}
      actions={
        <progress
          className="progress w-24"
          max={steps.length}
          value={done}
          aria-label="Completed steps"
        />
      }
    >
      <ol className="grid gap-3">
        {steps.map((step, index) => (
          <li key={step.title} className="flex gap-3 text-sm">
            <span
              className={classNames(
                'mt-px flex size-5 shrink-0 items-center justify-center rounded-full text-2xs font-semibold',
                step.done
                  ? 'bg-good-wash text-good'
                  : index === next
                    ? 'bg-accent text-on-accent'
                    : 'bg-sunken text-faint ring-1 ring-line ring-inset',
              )}
            >
              {step.done ? <Check className="size-3" aria-label="Done" /> : index + 1}
            </span>
            <div className="min-w-0 flex-1">
              <p
                className={classNames(
                  step.done && 'text-faint',
                  !step.done && (index === next ? 'font-medium' : 'text-soft'),
                )}
              >
                {step.title}
              </p>
              {index === next && (
                <>
                  <p className="mt-0.5 text-soft">{step.hint}</p>
                  {step.example && <div className="mt-2">{step.example}</div>}
                  <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-2">
                    {step.action}
                    <Link
                      to={step.to}
                      search={(step.search ?? {}) as never}
                      className="inline-flex items-center gap-1 font-medium text-accent-ink hover:underline"
                    >
                      {step.link}
                      <ArrowRight className="size-3.5" aria-hidden />
                    </Link>
                  </div>
                </>
              )}
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}

export interface Step {
  title: string;
  hint: string;
  done: boolean;
  to: string;
  search?: Record<string, string>;
  link: string;
  example?: ReactNode;
  /** A button that completes the step. */
  action?: ReactNode;
}

/** The steps span both modes, but events are streamed for the selected mode only, so poll. */
const POLL_MS = 15_000;

/** Undefined while loading, empty once everything is done, which is remembered. */
export function useSteps(): Step[] | undefined {
  const { selection } = useApi();
  const can = useCan();
  const canRead = ['read:api_keys', 'read:domains', 'read:messages'].every(can);
  const preferenceKey = `started.${selection.workspaceId}`;
  const started = readPreference(preferenceKey) === 'yes';
  const { data, isError } = useQuery({
    queryKey: ['checklist', selection.workspaceId],
    queryFn: async () => {
      const live = apiFor({ ...selection, mode: 'live' });
      const test = apiFor({ ...selection, mode: 'test' });
      const one = { params: { query: { limit: 1 } } };
      const delivered = { params: { query: { limit: 1, status: 'delivered' as const } } };
      const [keys, domains, tried, sent] = await Promise.all([
        unwrap(live.GET('/api/v1/api-keys', one)),
        fetchAllRows((query) => unwrap(live.GET('/api/v1/domains', { params: { query } }))),
        unwrap(test.GET('/api/v1/messages', one)),
        unwrap(live.GET('/api/v1/messages', delivered)),
      ]);
      if (sent.data.length > 0) savePreference(preferenceKey, 'yes');
      return {
        key: keys.data.length > 0,
        tried: tried.data.length > 0,
        domain: domains.length > 0,
        verified: domains.some(({ status }) => status === 'verified' || status === 'degraded'),
        delivered: sent.data.length > 0,
      };
    },
    enabled: canRead && !started,
    refetchInterval: POLL_MS,
  });
  if (started || !canRead || data?.delivered || (isError && !data)) return [];
  if (!data) return undefined;
  return [
    {
      title: 'Create an API key',
      hint: 'Your application needs it for every request. Start with a test key: nothing is sent.',
      done: data.key,
      to: '/api-keys',
      search: { new: 'true' },
      link: 'Create key',
    },
    {
      title: 'Send a test email',
      hint: 'From here, or with this command. The email goes to the test inbox.',
      done: data.tried,
      to: '/test-inbox',
      link: 'Open test inbox',
      example: (
        <ShellExample
          mode="test"
          label="curl example"
          scopes={['send:transactional']}
          code={(values) => sendSnippets(values)[0]?.code ?? ''}
        />
      ),
      action: can('send:transactional') && <SendTestMessage />,
    },
    {
      title: 'Add your sending domain',
      hint: 'The part after @ in your From address.',
      done: data.domain,
      to: '/domains',
      search: { new: 'true' },
      link: 'Add domain',
    },
    {
      title: 'Verify DNS',
      hint: 'Publish the DNS records shown for the domain. It is verified automatically.',
      done: data.verified,
      to: '/domains',
      link: 'View records',
    },
    {
      title: 'Send your first live email',
      hint: 'Use a live key and a From address on your verified domain.',
      done: data.delivered,
      to: '/api-keys',
      search: { new: 'true' },
      link: 'Create live key',
    },
  ];
}

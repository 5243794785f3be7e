import { CircleAlert, CircleCheck, Info } from 'lucide-react';
import type { ReactNode } from 'react';
import { type Problem, toProblem } from '../api/problem.ts';
import { classNames } from '../lib/class-names.ts';
import { Button } from './button.tsx';
import { CopyCode } from './copy.tsx';

/** An API error: what went wrong and what to do about it. */
export function ErrorAlert({
  error,
  onRetry,
  className,
}: {
  error: unknown;
  onRetry?: () => void;
  className?: string;
}) {
  const problem = toProblem(error);
  const { errors = [] } = problem;
  const [only] = errors;
  const more = errors.length === 1 && problem.detail.endsWith(only?.detail ?? '') ? [] : errors;
  const isValidation = problem.code === 'validation_failed';
  const retry = isValidation ? undefined : onRetry;
  // A refused request explains itself; a failure has to be found in the log.
  const requestId = problem.status < 500 ? '' : problem.request_id;
  return (
    <Alert tone="bad" title={problem.detail || problem.title} className={className}>
      {more.length > 0 && (
        <ul className="list-disc space-y-0.5 pl-4">
          {more.map((one) => (
            <li key={`${locationOf(one)}${one.code}${one.detail}`}>
              {locationOf(one) && <code className="font-mono text-xs">{locationOf(one)}</code>}{' '}
              {one.detail}
            </li>
          ))}
        </ul>
      )}
      {/* Skip a fix that repeats the detail or only refers to the listed fields. */}
      {!isValidation && !problem.detail.endsWith(problem.fix) && <p>{problem.fix}</p>}
      {(requestId !== '' || retry) && (
        <div className="mt-1 flex flex-wrap items-center gap-3">
          {retry && (
            <Button size="small" onClick={retry}>
              Try again
            </Button>
          )}
          {requestId !== '' && <CopyCode text={requestId} />}
        </div>
      )}
    </Alert>
  );
}

function locationOf({ pointer, parameter, line, column }: NonNullable<Problem['errors']>[number]) {
  const field = pointer ?? parameter ?? '';
  return line === undefined ? field : `${field} ${line}:${column}`;
}

const TONES = {
  bad: 'bg-bad-wash text-bad',
  warn: 'bg-warn-wash text-warn',
  good: 'bg-good-wash text-good',
  info: 'bg-info-wash text-info',
} as const;

const ICONS = { bad: CircleAlert, warn: CircleAlert, good: CircleCheck, info: Info };

export function Alert({
  tone,
  title,
  icon,
  children,
  className,
}: {
  tone: keyof typeof TONES;
  title: ReactNode;
  icon?: ReactNode;
  children?: ReactNode;
  className?: string | undefined;
}) {
  const Icon = ICONS[tone];
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={classNames('flex gap-2.5 rounded-lg px-3 py-2.5 text-sm', TONES[tone], className)}
    >
      {icon ?? <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />}
      <div className="grid min-w-0 flex-1 gap-1">
        <p className="font-medium break-words">{title}</p>
        {children !== undefined && (
          <div className="grid gap-1 break-words text-ink/85">{children}</div>
        )}
      </div>
    </div>
  );
}

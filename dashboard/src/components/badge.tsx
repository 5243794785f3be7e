import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';
import { capitalize } from '../lib/format.ts';

const TONES = {
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  info: 'bg-info-wash text-info',
  plum: 'bg-plum-wash text-plum',
  plain: 'bg-sunken text-soft ring-1 ring-line ring-inset',
  accent: 'bg-accent-wash text-accent-ink',
} as const;

export type Tone = keyof typeof TONES;

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classNames(
        'inline-flex min-h-5 max-w-full shrink-0 items-center gap-1 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

/** Tones for the statuses of messages, recipients, attempts, domains and imports. */
const STATUS_TONES: Record<string, Tone> = {
  scheduled: 'plum',
  queued: 'info',
  deferred: 'warn',
  delivered: 'good',
  bounced: 'bad',
  expired: 'bad',
  failed: 'bad',
  cancelled: 'plain',
  suppressed: 'plain',
  partial: 'warn',
  verified: 'good',
  degraded: 'warn',
  pending: 'info',
  found: 'good',
  missing: 'bad',
  wrong: 'bad',
  lookup_failed: 'warn',
  accepted: 'good',
  revoked: 'plain',
  running: 'info',
  finished: 'good',
  succeeded: 'good',
};

const DOTS: Record<Tone, string> = {
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  plum: 'bg-plum',
  plain: 'bg-faint',
  accent: 'bg-accent',
};

export function StatusBadge({ status }: { status: string }) {
  const tone = STATUS_TONES[status] ?? 'plain';
  return (
    <Badge tone={tone}>
      <Dot tone={tone} />
      {capitalize(status.replaceAll('_', ' '))}
    </Badge>
  );
}

export function Dot({ tone }: { tone: Tone }) {
  return <span className={classNames('size-1.5 shrink-0 rounded-full', DOTS[tone])} aria-hidden />;
}

export function ModeBadge({ mode }: { mode: string }) {
  return <Badge tone={mode === 'live' ? 'accent' : 'plain'}>{capitalize(mode)}</Badge>;
}

import { useBlocker } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import { CopyButton } from './copy.tsx';
import { Field, Select } from './field.tsx';

/**
 * Blocks back navigation and warns before the tab closes, while a secret is on screen that is never
 * shown again.
 */
export function usePreventLeaving(): void {
  useBlocker({
    shouldBlockFn: ({ action }) => action !== 'PUSH' && action !== 'REPLACE',
    enableBeforeUnload: true,
  });
}

/** A secret that is shown only once, with a copy button. */
export function OneTimeSecret({ secret, copy }: { secret: string; copy: string }) {
  usePreventLeaving();
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-lg border border-accent-ink/40 bg-accent-wash/60 p-2 pl-3">
      <KeyRound className="size-4 shrink-0 text-accent-ink" aria-hidden />
      <code className="min-w-0 flex-1 basis-60 font-mono text-sm break-all" data-testid="token">
        {secret}
      </code>
      <CopyButton text={secret}>{copy}</CopyButton>
    </div>
  );
}

export const DEFAULT_GRACE_SECONDS = 86_400;

const GRACE_PERIODS: [number, string][] = [
  [0, 'None (revoke immediately)'],
  [3600, '1 hour'],
  [DEFAULT_GRACE_SECONDS, '1 day'],
  [604_800, '1 week'],
  [2_592_000, '30 days'],
];

/** How long the previous secret keeps working after a rotation. */
export function GracePeriodField({
  label,
  seconds,
  onChange,
}: {
  label: string;
  seconds: number;
  onChange: (seconds: number) => void;
}) {
  return (
    <Field label={label}>
      <Select value={String(seconds)} onChange={(event) => onChange(Number(event.target.value))}>
        {GRACE_PERIODS.map(([value, label]) => (
          <option key={value} value={String(value)}>
            {label}
          </option>
        ))}
      </Select>
    </Field>
  );
}

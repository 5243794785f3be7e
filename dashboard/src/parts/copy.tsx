import { Check, Copy as CopyIcon, type LucideIcon, X } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';

/**
 * Puts text on the clipboard; over plain http browsers forbid the modern way, so the old one too.
 * False when the browser allows neither.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement;
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'fixed opacity-0';
    // Inside an open dialog, because everything outside it is inert.
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return copied;
  }
}

/** How it went, for a moment. */
interface Outcome {
  words: string;
  icon: LucideIcon;
  tone: string;
}

const COPIED: Outcome = { words: 'Copied', icon: Check, tone: 'text-good' };
const REFUSED: Outcome = { words: 'Not copied', icon: X, tone: 'text-bad' };

function useCopy(): [Outcome | undefined, (text: string) => void] {
  const [outcome, setOutcome] = useState<Outcome>();
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(undefined), 1_600);
    return () => clearTimeout(timer);
  }, [outcome]);
  return [
    outcome,
    (text) => void copyText(text).then((copied) => setOutcome(copied ? COPIED : REFUSED)),
  ];
}

export function CopyIconButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [outcome, copy] = useCopy();
  return (
    <IconButton
      icon={outcome?.icon ?? CopyIcon}
      label={outcome?.words ?? label}
      className={classNames('above', outcome?.tone)}
      onClick={() => copy(text)}
    />
  );
}

export function CopyButton({ text, children = 'Copy' }: { text: string; children?: ReactNode }) {
  const [outcome, copy] = useCopy();
  return (
    <Button icon={outcome?.icon ?? CopyIcon} onClick={() => copy(text)}>
      {outcome?.words ?? children}
    </Button>
  );
}

/** An id or address in fixed-width type, copied by a click. */
export function CopyCode({ text, className }: { text: string; className?: string }) {
  const [outcome, copy] = useCopy();
  return (
    <button
      type="button"
      title="Copy"
      onClick={() => copy(text)}
      className={classNames(
        'above group inline-flex max-w-full min-w-0 items-center gap-1 rounded font-mono text-xs text-soft hover:text-ink',
        className,
      )}
    >
      <span className="truncate">{text}</span>
      {outcome ? (
        <outcome.icon className={classNames('size-3 shrink-0', outcome.tone)} aria-hidden />
      ) : (
        <CopyIcon className="size-3 shrink-0 opacity-0 group-hover:opacity-100" aria-hidden />
      )}
      <span className="sr-only" aria-live="polite">
        {outcome?.words ?? ''}
      </span>
    </button>
  );
}

import { Check, Copy as CopyIcon, type LucideIcon, X } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { Button, IconButton } from './button.tsx';

/**
 * Copies text to the clipboard. The Clipboard API is unavailable over plain HTTP, so execCommand is
 * the fallback. Returns false if the browser allows neither.
 */
async function copyText(text: string): Promise<boolean> {
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

/** Feedback shown briefly after copying. */
interface CopyResult {
  label: string;
  icon: LucideIcon;
  tone: string;
}

const COPIED: CopyResult = { label: 'Copied', icon: Check, tone: 'text-good' };
const FAILED: CopyResult = { label: 'Couldn’t copy', icon: X, tone: 'text-bad' };

function useCopy(): [CopyResult | undefined, (text: string) => void] {
  const [result, setResult] = useState<CopyResult>();
  useEffect(() => {
    if (!result) return;
    const timer = setTimeout(() => setResult(undefined), 1_600);
    return () => clearTimeout(timer);
  }, [result]);
  return [
    result,
    (text) => void copyText(text).then((copied) => setResult(copied ? COPIED : FAILED)),
  ];
}

export function CopyIconButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [result, copy] = useCopy();
  return (
    <IconButton
      icon={result?.icon ?? CopyIcon}
      label={result?.label ?? label}
      className={classNames('above', result?.tone)}
      onClick={() => copy(text)}
    />
  );
}

export function CopyButton({ text, children = 'Copy' }: { text: string; children?: ReactNode }) {
  const [result, copy] = useCopy();
  return (
    <Button icon={result?.icon ?? CopyIcon} onClick={() => copy(text)}>
      {result?.label ?? children}
    </Button>
  );
}

/** An ID or address in monospace that is copied on click. */
export function CopyCode({ text, className }: { text: string; className?: string }) {
  const [result, copy] = useCopy();
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
      {result ? (
        <result.icon className={classNames('size-3 shrink-0', result.tone)} aria-hidden />
      ) : (
        <CopyIcon className="size-3 shrink-0 opacity-0 group-hover:opacity-100" aria-hidden />
      )}
      <span className="sr-only" aria-live="polite">
        {result?.label ?? ''}
      </span>
    </button>
  );
}

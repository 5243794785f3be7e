import { Check, Copy as CopyIcon } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';

/** Puts text on the clipboard; over plain http browsers forbid the modern way, so the old one too. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'fixed opacity-0';
    // Inside an open dialog, because everything outside it is inert.
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function useCopied(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_600);
    return () => clearTimeout(timer);
  }, [copied]);
  return [copied, (text) => void copyText(text).then(() => setCopied(true))];
}

export function CopyIconButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, copy] = useCopied();
  return (
    <IconButton
      icon={copied ? Check : CopyIcon}
      label={copied ? 'Copied' : label}
      className={classNames('above', copied && 'text-good')}
      onClick={() => copy(text)}
    />
  );
}

export function CopyButton({ text, children = 'Copy' }: { text: string; children?: ReactNode }) {
  const [copied, copy] = useCopied();
  return (
    <Button icon={copied ? Check : CopyIcon} onClick={() => copy(text)}>
      {copied ? 'Copied' : children}
    </Button>
  );
}

/** An id or address in fixed-width type, copied by a click. */
export function CopyCode({ text, className }: { text: string; className?: string }) {
  const [copied, copy] = useCopied();
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
      {copied ? (
        <Check className="size-3 shrink-0 text-good" aria-hidden />
      ) : (
        <CopyIcon className="size-3 shrink-0 opacity-0 group-hover:opacity-100" aria-hidden />
      )}
      <span className="sr-only" aria-live="polite">
        {copied ? 'Copied' : ''}
      </span>
    </button>
  );
}

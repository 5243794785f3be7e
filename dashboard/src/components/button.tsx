import { LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, Ref } from 'react';
import { classNames } from '../lib/class-names.ts';

const KINDS = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover shadow-panel border border-transparent',
  plain: 'bg-panel text-ink border border-line-strong hover:bg-sunken shadow-panel',
  quiet: 'text-soft hover:text-ink hover:bg-sunken border border-transparent',
  danger: 'bg-bad-solid text-white hover:brightness-110 border border-transparent shadow-panel',
  'danger-quiet': 'bg-panel text-bad border border-line-strong hover:bg-bad-wash shadow-panel',
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: keyof typeof KINDS;
  size?: 'small' | 'normal';
  icon?: LucideIcon;
  /** Shows a spinner and disables the button. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  kind = 'plain',
  size = 'normal',
  icon: Icon,
  busy = false,
  className,
  children,
  disabled,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      className={classNames(buttonClass(kind, size), className)}
      {...rest}
    >
      {busy ? (
        <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
      ) : (
        Icon && <Icon className="size-3.5 shrink-0" aria-hidden />
      )}
      {children}
    </button>
  );
}

/** The button's classes, for links. */
export function buttonClass(
  kind: keyof typeof KINDS = 'plain',
  size: 'small' | 'normal' = 'normal',
): string {
  return classNames(
    'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors select-none disabled:opacity-55',
    size === 'small' ? 'h-7 px-2.5 text-xs' : 'h-8 px-3 text-sm',
    KINDS[kind],
  );
}

export interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  /** The accessible name, also shown as a tooltip. */
  label: string;
  danger?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon: Icon, label, danger, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classNames(
        'inline-flex size-7 shrink-0 items-center justify-center rounded-md transition-colors disabled:opacity-50',
        danger
          ? 'text-faint hover:bg-bad-wash hover:text-bad'
          : 'text-faint hover:bg-sunken hover:text-ink',
        className,
      )}
      {...rest}
    >
      <Icon className="size-4" aria-hidden />
    </button>
  );
}

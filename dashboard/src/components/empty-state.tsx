import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

/** Shown instead of an empty list: what belongs here and how to create it. */
export function EmptyState({
  icon: Icon,
  title,
  children,
  actions,
  example,
}: {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** A code snippet to try. */
  example?: ReactNode;
}) {
  return (
    <div className="mx-auto flex w-full max-w-xl flex-col items-center px-4 py-12 text-center">
      <span className="mb-3 inline-flex size-10 items-center justify-center rounded-xl bg-accent-wash text-accent-ink">
        <Icon className="size-5" aria-hidden />
      </span>
      <h2 className="text-lg font-semibold">{title}</h2>
      {children !== undefined && <div className="mt-1 text-sm text-soft">{children}</div>}
      {actions !== undefined && (
        <div className="mt-4 flex flex-wrap justify-center gap-2">{actions}</div>
      )}
      {example !== undefined && <div className="mt-6 w-full min-w-0 text-left">{example}</div>}
    </div>
  );
}

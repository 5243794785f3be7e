import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

/** Nothing here yet: what would be, and how to get it. */
export function EmptyState({
  icon: Icon,
  title,
  children,
  actions,
  teach,
}: {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** A snippet to try. */
  teach?: ReactNode;
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
      {teach !== undefined && <div className="mt-6 w-full text-left">{teach}</div>}
    </div>
  );
}

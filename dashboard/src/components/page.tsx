import { Link } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { useBackLink } from '../layout/scroll-restoration.ts';
import { classNames } from '../lib/class-names.ts';

/** A page with its title, actions and content. */
export interface PageProps {
  title: string;
  /** Rendered instead of the plain title. */
  heading?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  back?: { to: string; label: string };
  children: ReactNode;
  /** No horizontal padding, for tables and editors. */
  full?: boolean;
}

export function Page({ title, heading, description, actions, back, children, full }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Postrider`;
  }, [title]);
  const goBack = useBackLink(back?.to);
  const about = description !== undefined && (
    <div className="mt-0.5 max-w-3xl text-sm text-pretty wrap-anywhere text-soft">
      {description}
    </div>
  );
  // List pages have short titles with their button beside them, also on phones. Detail pages may
  // have long titles, which get the whole line.
  return (
    <div className="flex min-h-full flex-col">
      <header className="flex flex-wrap items-start gap-x-4 gap-y-3 px-4 pt-4 pb-3 sm:px-6 sm:pt-5">
        <div className={classNames('min-w-0 flex-1', back ? 'basis-60' : 'basis-28')}>
          {back && (
            <Link
              to={back.to}
              onClick={goBack}
              className="-ml-1 mb-1 inline-flex items-center gap-0.5 rounded text-xs text-faint hover:text-ink"
            >
              <ChevronLeft className="size-3.5" aria-hidden />
              {back.label}
            </Link>
          )}
          <h1 className="text-xl font-semibold tracking-tight wrap-anywhere">{heading ?? title}</h1>
          {back && about}
        </div>
        {actions !== undefined && (
          <div className="flex flex-wrap items-center gap-2">{actions}</div>
        )}
        {!back && about && <div className="-mt-2.5 min-w-0 basis-full">{about}</div>}
      </header>
      <div className={classNames('flex min-h-0 flex-1 flex-col', !full && 'px-4 pb-10 sm:px-6')}>
        {children}
      </div>
    </div>
  );
}

/** A titled card on a page. */
export function Section({
  title,
  description,
  actions,
  children,
  className,
}: {
  title: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section className={classNames('rounded-xl border border-line', className)}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5">
        <div className="min-w-0 flex-1 basis-28">
          <h2 className="text-sm font-semibold">{title}</h2>
          {description !== undefined && <p className="text-xs text-soft">{description}</p>}
        </div>
        {actions}
      </div>
      <div className="p-4">{children}</div>
    </section>
  );
}

/** A list of names and values. Long names wrap, so that values keep most of the width. */
export function DetailList({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-[fit-content(45%)_minmax(0,1fr)] gap-x-4 gap-y-2 text-sm">
      {children}
    </dl>
  );
}

export function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="min-w-24 text-faint wrap-anywhere">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

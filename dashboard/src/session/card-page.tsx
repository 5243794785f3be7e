import { type ReactNode, useEffect, useRef } from 'react';
import { DOCUMENTATION } from '../layout/navigation-items.ts';

/** A page without navigation: one centered card. */
export function CardPage({
  title,
  description,
  children,
  below,
}: {
  title: string;
  description?: ReactNode;
  children: ReactNode;
  below?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // A finished form is gone, and the focus with it: let screen readers announce what replaced it.
    if (document.activeElement === document.body) heading.current?.focus();
    document.title = `${title} · Postrider`;
    // Signed-out pages have no mode and use the live (brand) color.
    const { mode } = document.documentElement.dataset;
    document.documentElement.dataset.mode = 'live';
    return () => {
      document.documentElement.dataset.mode = mode ?? 'test';
    };
  }, [title]);
  return (
    <main className="flex min-h-dvh flex-col items-center bg-canvas px-4 pt-[12vh] pb-10">
      <Wordmark />
      <div className="mt-6 w-full max-w-sm wrap-anywhere rounded-xl border border-(--canvas-line) bg-panel p-6 shadow-pop">
        <h1
          ref={heading}
          tabIndex={-1}
          className="text-xl font-semibold tracking-tight outline-none"
        >
          {title}
        </h1>
        {description !== undefined && <div className="mt-1 text-sm text-soft">{description}</div>}
        <div className="mt-5">{children}</div>
      </div>
      {below !== undefined && <div className="mt-4 text-sm text-soft">{below}</div>}
      <a
        href={DOCUMENTATION.href}
        className="mt-4 rounded text-sm text-soft hover:text-ink hover:underline"
      >
        {DOCUMENTATION.label}
      </a>
    </main>
  );
}

export function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2.5 text-lg font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-7" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="var(--accent)" />
        <path d="M7.5 16.5 24.5 8l-5.2 16.2-4-6.6z" fill="var(--on-accent)" />
        <path d="m15.3 17.6 9.2-9.6" stroke="var(--accent)" strokeWidth="1.6" />
      </svg>
      Postrider
    </span>
  );
}

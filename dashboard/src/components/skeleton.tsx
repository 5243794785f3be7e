import { classNames } from '../lib/class-names.ts';

/** A placeholder while content is loading. */
export function Skeleton({ className }: { className?: string }) {
  return <div className={classNames('skeleton h-3', className)} aria-hidden />;
}

const WIDTHS = ['w-2/3', 'w-1/2', 'w-3/4', 'w-2/5', 'w-3/5'];

export function SkeletonRows({ rows = 8 }: { rows?: number | undefined }) {
  return (
    <div role="status" aria-label="Loading" className="divide-y divide-line">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity.
        <div key={index} className="flex h-11 items-center gap-4 px-4 sm:px-6">
          <Skeleton className="w-16" />
          <div className="flex-1">
            <Skeleton className={WIDTHS[index % WIDTHS.length] as string} />
          </div>
          <Skeleton className="w-20" />
        </div>
      ))}
    </div>
  );
}

export function SkeletonPage() {
  return (
    <div role="status" aria-label="Loading" className="px-4 pt-5 sm:px-6">
      <Skeleton className="mb-6 h-6 w-48" />
      <div className="grid gap-3">
        {WIDTHS.map((width) => (
          <Skeleton key={width} className={width} />
        ))}
      </div>
    </div>
  );
}

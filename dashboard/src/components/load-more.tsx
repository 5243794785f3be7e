import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';

/** The end of a list: loads the next page when scrolled into view, or on click. */
export function LoadMore({
  hasNextPage,
  isFetchingNextPage,
  fetchNextPage,
  label = 'Load more',
}: {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
  label?: string;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const next = useRef(fetchNextPage);
  next.current = fetchNextPage;
  const canLoad = hasNextPage && !isFetchingNextPage;
  useEffect(() => {
    const end = ref.current;
    if (!end || !canLoad) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) next.current();
      },
      { rootMargin: '400px' },
    );
    observer.observe(end);
    return () => observer.disconnect();
  }, [canLoad]);
  if (!hasNextPage) return null;
  return (
    <div ref={ref} className="flex justify-center py-4">
      <Button kind="quiet" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {label}
      </Button>
    </div>
  );
}

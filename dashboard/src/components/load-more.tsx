import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';

/** The end of a list: fetches on by itself when it comes into sight, or by the button. */
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
  const wanted = hasNextPage && !isFetchingNextPage;
  useEffect(() => {
    const end = ref.current;
    if (!end || !wanted) return;
    const seen = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) next.current();
      },
      { rootMargin: '400px' },
    );
    seen.observe(end);
    return () => seen.disconnect();
  }, [wanted]);
  if (!hasNextPage) return null;
  return (
    <div ref={ref} className="flex justify-center py-4">
      <Button kind="quiet" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {label}
      </Button>
    </div>
  );
}

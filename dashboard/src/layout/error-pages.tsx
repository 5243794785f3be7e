import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { useCallback, useEffect } from 'react';
import { ErrorAlert } from '../components/alert.tsx';
import { buttonClass } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Page } from '../components/page.tsx';

export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // Reload failed data before rendering the page again.
  const retry = useCallback(() => void router.invalidate().then(reset), [router, reset]);
  useEffect(() => {
    addEventListener('online', retry);
    return () => removeEventListener('online', retry);
  }, [retry]);
  return (
    <div className="p-6">
      <ErrorAlert error={error} onRetry={retry} />
    </div>
  );
}

export function PageNotFound() {
  return (
    <Page title="Page not found">
      <EmptyState
        icon={Compass}
        title="Nothing at this address"
        actions={
          <Link to="/" className={buttonClass('primary')}>
            Go to overview
          </Link>
        }
      >
        It may be mistyped, or the page was removed.
      </EmptyState>
    </Page>
  );
}

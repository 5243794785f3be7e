import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { buttonClass } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Page } from '../components/page.tsx';
import { ErrorAlert } from '../components/alert.tsx';

export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // What could not be fetched is asked for again before it is shown again.
  const again = () => void router.invalidate().then(reset);
  return (
    <div className="p-6">
      <ErrorAlert error={error} onRetry={again} />
    </div>
  );
}

export function PageNotFound() {
  return (
    <Page title="Not found">
      <EmptyState
        icon={Compass}
        title="There is no such page"
        actions={
          <Link to="/" className={buttonClass('primary')}>
            To the overview
          </Link>
        }
      >
        The address may be mistyped, or what it led to is gone.
      </EmptyState>
    </Page>
  );
}

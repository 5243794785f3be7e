import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { buttonClass } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';

export function PageBroken({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // What could not be fetched is asked for again before it is shown again.
  const again = () => void router.invalidate().then(reset);
  return (
    <div className="p-6">
      <ProblemNote error={error} onRetry={again} />
    </div>
  );
}

export function PageMissing() {
  return (
    <Page title="Not found">
      <Empty
        icon={Compass}
        title="There is no such page"
        actions={
          <Link to="/" className={buttonClass('primary')}>
            To the overview
          </Link>
        }
      >
        The address may be mistyped, or what it led to is gone.
      </Empty>
    </Page>
  );
}

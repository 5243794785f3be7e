import { SearchX } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { goToMode, usePlace } from '../session/place.ts';

/** An address that leads to nothing in this place: a link from elsewhere, or of something deleted. */
export function NotHere({
  what,
  back,
  modes = false,
}: {
  /** In a sentence: “endpoint”. */
  what: string;
  back: { to: string; label: string };
  /** Live and test have each their own. */
  modes?: boolean;
}) {
  const { mode } = usePlace();
  const other = mode === 'live' ? 'test' : 'live';
  return (
    <Page title={what.charAt(0).toUpperCase() + what.slice(1)} back={back}>
      <Empty
        icon={SearchX}
        title={`There is no such ${what} here`}
        actions={modes && <Button onClick={() => goToMode(other)}>Look in {other} mode</Button>}
      >
        {modes
          ? `It may be deleted, belong to ${other} mode, or to another workspace.`
          : 'It may be deleted, or belong to another workspace.'}
      </Empty>
    </Page>
  );
}

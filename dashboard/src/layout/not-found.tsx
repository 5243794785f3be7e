import { SearchX } from 'lucide-react';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Page } from '../components/page.tsx';
import { selectMode, useSelection } from '../session/selection.ts';

/** An address that leads to nothing in this place: a link from elsewhere, or of something deleted. */
export function NotFound({
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
  const { mode } = useSelection();
  const other = mode === 'live' ? 'test' : 'live';
  return (
    <Page title={what.charAt(0).toUpperCase() + what.slice(1)} back={back}>
      <EmptyState
        icon={SearchX}
        title={`There is no such ${what} here`}
        actions={modes && <Button onClick={() => selectMode(other)}>Look in {other} mode</Button>}
      >
        {modes
          ? `It may be deleted, belong to ${other} mode, or to another workspace.`
          : 'It may be deleted, or belong to another workspace.'}
      </EmptyState>
    </Page>
  );
}

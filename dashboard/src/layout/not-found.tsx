import { SearchX } from 'lucide-react';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Page } from '../components/page.tsx';
import { capitalize } from '../lib/format.ts';
import { selectMode, useSelection } from '../session/selection.ts';

/** Shown for a URL whose object does not exist in the selected workspace and mode. */
export function NotFound({
  what,
  back,
  modes = false,
}: {
  /** The noun for a sentence, such as “endpoint”. */
  what: string;
  back: { to: string; label: string };
  /** Whether live and test mode have separate objects of this kind. */
  modes?: boolean;
}) {
  const { mode } = useSelection();
  const other = mode === 'live' ? 'test' : 'live';
  return (
    <Page title={capitalize(what)} back={back}>
      <EmptyState
        icon={SearchX}
        title={`${capitalize(what)} not found`}
        actions={modes && <Button onClick={() => selectMode(other)}>Switch to {other} mode</Button>}
      >
        {modes
          ? `It may have been deleted, or it belongs to ${other} mode or another workspace.`
          : 'It may have been deleted, or it belongs to another workspace.'}
      </EmptyState>
    </Page>
  );
}

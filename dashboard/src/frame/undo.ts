import { SHOWN_WITH_ACTION_MS, tell, tellProblem } from './toasts.tsx';

/** A little longer than the words are there: who can still click on Undo must not be too late. */
const UNDO_MS = SHOWN_WITH_ACTION_MS + 500;

/** Does it in a moment, unless the person takes it back. Until then the screen only hides the thing. */
export function doUnlessUndone(
  text: string,
  steps: { hide: () => void; show: () => void; run: () => Promise<unknown> },
): void {
  steps.hide();
  const timer = setTimeout(() => {
    steps.run().catch((error) => {
      steps.show();
      tellProblem(error);
    });
  }, UNDO_MS);
  tell(text, {
    label: 'Undo',
    run: () => {
      clearTimeout(timer);
      steps.show();
    },
  });
}

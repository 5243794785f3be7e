import { SHOWN_WITH_ACTION_MS, showToast, showErrorToast } from './toasts.tsx';

/** A little longer than the words are there: who can still click on Undo must not be too late. */
const UNDO_MS = SHOWN_WITH_ACTION_MS + 500;

/** Does it in a moment, unless the person takes it back. Until then the screen only hides the thing. */
export function runWithUndo(
  text: string,
  steps: { hide: () => void; show: () => void; run: () => Promise<unknown> },
): void {
  steps.hide();
  const timer = setTimeout(() => {
    steps.run().catch((error) => {
      steps.show();
      showErrorToast(error);
    });
  }, UNDO_MS);
  showToast(text, {
    label: 'Undo',
    run: () => {
      clearTimeout(timer);
      steps.show();
    },
  });
}

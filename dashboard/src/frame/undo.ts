import { tell, tellProblem } from './toasts.tsx';

const UNDO_MS = 6_000;

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

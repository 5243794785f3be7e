import { classNames } from '../lib/class-names.ts';
import { selectMode, type Mode, useSelection } from '../session/selection.ts';
import { useWorkspace } from '../session/session.ts';

const MODES: { mode: Mode; label: string; hint: string }[] = [
  { mode: 'test', label: 'Test', hint: 'Mail ends in the test inbox. Nothing leaves.' },
  { mode: 'live', label: 'Live', hint: 'Mail goes out to real people.' },
];

/** Live or test. The choice colours the whole frame. */
export function ModeSwitch() {
  const { mode: current } = useSelection();
  return (
    <fieldset className="grid grid-cols-2 gap-0.5 rounded-lg bg-(--canvas-line) p-0.5">
      <legend className="sr-only">Mode</legend>
      {MODES.map(({ mode, label, hint }) => (
        <button
          key={mode}
          type="button"
          title={hint}
          aria-pressed={mode === current}
          onClick={() => selectMode(mode)}
          className={classNames(
            'h-6.5 rounded-md text-xs font-semibold transition-colors',
            mode === current
              ? 'bg-accent text-on-accent shadow-panel'
              : 'text-soft hover:bg-panel/50 hover:text-ink',
          )}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** Said in words too: colour alone is not enough. */
export function ModeBanner() {
  const { mode } = useSelection();
  if (mode === 'live') return <SuspendedBanner />;
  return (
    <p className="flex h-6 shrink-0 items-center justify-center gap-2 bg-accent px-3 text-xs font-medium text-on-accent">
      Test mode
      <span className="hidden font-normal sm:inline">
        Mail ends in the test inbox. Nothing leaves.
      </span>
    </p>
  );
}

/** What the operator has to say stands whole, however long it is. */
function SuspendedBanner() {
  const { suspended } = useWorkspace();
  if (!suspended) return null;
  return (
    <p
      role="status"
      className="shrink-0 bg-bad-solid px-3 py-1 text-center text-xs font-medium text-white"
    >
      Suspended
      <span className="ml-2 font-normal wrap-anywhere">
        The operator has stopped the live mail of this workspace: {suspended.reason}
      </span>
    </p>
  );
}

import { classNames } from '../lib/class-names.ts';
import { type Mode, selectMode, useSelection } from '../session/selection.ts';
import { useWorkspace } from '../session/session.ts';

const MODES: { mode: Mode; label: string; hint: string }[] = [
  { mode: 'test', label: 'Test', hint: 'Emails are captured in the test inbox. Nothing is sent.' },
  { mode: 'live', label: 'Live', hint: 'Emails are sent to real recipients.' },
];

/** Switches between live and test mode. The mode also sets the accent color of the layout. */
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

/** States the mode in text as well, because color alone is not accessible. */
export function ModeBanner() {
  const { mode } = useSelection();
  if (mode === 'live') return <SuspendedBanner />;
  return (
    <p className="flex h-6 shrink-0 items-center justify-center gap-2 bg-accent px-3 text-xs font-medium text-on-accent">
      Test mode
      <span className="hidden font-normal sm:inline">
        Emails are captured in the test inbox. Nothing is sent.
      </span>
    </p>
  );
}

/** The operator's reason is shown in full, however long it is. */
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
        The operator suspended live sending for this workspace: {suspended.reason}
      </span>
    </p>
  );
}

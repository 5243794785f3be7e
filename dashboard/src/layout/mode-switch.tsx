import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { dateAndTime } from '../components/time.tsx';
import { classNames } from '../lib/class-names.ts';
import { type Mode, selectMode, useSelection } from '../session/selection.ts';
import { useMe, useWorkspace } from '../session/session.ts';

const MODES: { mode: Mode; label: string; hint: string }[] = [
  { mode: 'test', label: 'Test', hint: 'Emails are captured in the test inbox. Nothing is sent.' },
  { mode: 'live', label: 'Live', hint: 'Emails are sent to real recipients.' },
];

/** Switches between live and test mode. */
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
            mode !== current
              ? 'text-soft hover:bg-panel/50 hover:text-ink'
              : mode === 'test'
                ? 'bg-test text-on-test shadow-panel'
                : 'bg-accent text-on-accent shadow-panel',
          )}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** A thin bar with a badge. The mode is stated in text, because color alone is not accessible. */
export function ModeBanner() {
  const { mode } = useSelection();
  if (mode === 'live') return <SuspendedBanner />;
  return (
    <div className="relative z-20 h-[3px] shrink-0 bg-test print:hidden">
      <p
        title="Emails are captured in the test inbox. Nothing is sent."
        className="absolute top-0 left-1/2 -translate-x-1/2 rounded-b-md bg-test px-2.5 pb-0.5 text-2xs font-semibold whitespace-nowrap text-on-test"
      >
        Test mode
        <span className="sr-only">: emails are captured in the test inbox. Nothing is sent.</span>
      </p>
    </div>
  );
}

/** Shown in both modes, with a link for owners, who can restore the workspace. */
export function DeletionBanner() {
  const { deletion, role, removed } = useWorkspace();
  if (!deletion || removed) return null;
  return (
    <Banner title={`This workspace will be deleted after ${dateAndTime(deletion.delete_at)}.`}>
      Live mail is held.{' '}
      {role === 'owner' ? (
        <Link to="/settings" search={{ tab: 'workspace' }} className="underline">
          Restore it in the settings
        </Link>
      ) : (
        'An owner can restore it.'
      )}
    </Banner>
  );
}

export function AccountDeletionBanner() {
  const { delete_at: deleteAt } = useMe();
  if (deleteAt === null) return null;
  return (
    <Banner title={`Your account will be deleted after ${dateAndTime(deleteAt)}.`}>
      <Link to="/settings" className="underline">
        Restore your account in the settings
      </Link>
    </Banner>
  );
}

/** The operator's reason is shown in full, however long it is. */
function SuspendedBanner() {
  const { suspended } = useWorkspace();
  if (!suspended) return null;
  return (
    <Banner title="Suspended">
      Live sending is suspended for this workspace. {suspended.reason}
    </Banner>
  );
}

function Banner({ title, children }: { title: string; children: ReactNode }) {
  const { mode } = useSelection();
  return (
    <p
      role="status"
      className={classNames(
        'shrink-0 bg-bad-solid px-3 py-1 text-center text-xs font-medium text-white',
        // Below the badge of test mode.
        mode === 'test' && 'pt-5',
      )}
    >
      {title}
      <span className="ml-2 font-normal wrap-anywhere">{children}</span>
    </p>
  );
}

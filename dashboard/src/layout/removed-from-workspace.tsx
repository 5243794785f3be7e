import { useQueryClient } from '@tanstack/react-query';
import { Button, buttonClass } from '../components/button.tsx';
import { canLeave } from '../session/leave-guards.ts';
import { dashboardAt } from '../session/moved-workspaces.tsx';
import { leaveWorkspace, useMe, useWorkspace } from '../session/session.ts';

/**
 * Shown when the open workspace has moved, or the user was removed from it. The page stays, so typed text
 * can be copied.
 */
export function RemovedFromWorkspaceBanner() {
  const queries = useQueryClient();
  const { id, name, removed } = useWorkspace();
  const moved = useMe().moved_workspaces.find((one) => one.id === id);
  if (!removed) return null;
  const leave = async () => {
    if (await canLeave()) leaveWorkspace(queries);
  };
  return (
    <div
      role="alert"
      className="flex shrink-0 flex-wrap items-center justify-center gap-x-3 gap-y-1 bg-bad-wash px-3 py-1.5 text-sm text-bad"
    >
      <p className="min-w-0 break-words">
        <strong className="font-semibold">
          {moved
            ? `${name} has moved to another server.`
            : `You are no longer a member of ${name}.`}
        </strong>{' '}
        You can still copy from this page, but changes can’t be saved.
      </p>
      {moved?.url && (
        <a href={dashboardAt(moved.url)} className={buttonClass('plain', 'small')}>
          Go to {new URL(moved.url).host}
        </a>
      )}
      <Button size="small" onClick={() => void leave()}>
        Leave page
      </Button>
    </div>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { Button } from '../components/button.tsx';
import { canLeave } from '../session/leave-guards.ts';
import { leaveWorkspace, useWorkspace } from '../session/session.ts';

/** Shown when the user was removed from the open workspace. The page stays, so typed text can be copied. */
export function RemovedFromWorkspaceBanner() {
  const queries = useQueryClient();
  const { name, removed } = useWorkspace();
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
        <strong className="font-semibold">You are no longer a member of {name}.</strong> You can
        still copy from this page, but changes can’t be saved.
      </p>
      <Button size="small" onClick={() => void leave()}>
        Leave page
      </Button>
    </div>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { Button } from '../components/button.tsx';
import { canLeave } from '../session/leave-guards.ts';
import { leaveWorkspace, useWorkspace } from '../session/session.ts';

/** Over a page whose workspace is the person's no more. It stays until they go: there may be words on it. */
export function RemovedFromWorkspaceBanner() {
  const queries = useQueryClient();
  const { name, lost } = useWorkspace();
  if (!lost) return null;
  const leave = async () => {
    if (await canLeave()) leaveWorkspace(queries);
  };
  return (
    <div
      role="alert"
      className="flex shrink-0 flex-wrap items-center justify-center gap-x-3 gap-y-1 bg-bad-wash px-3 py-1.5 text-sm text-bad"
    >
      <p className="min-w-0 break-words">
        <strong className="font-semibold">You are no longer a member of {name}.</strong> This page
        stays until you go on, but nothing on it can be saved.
      </p>
      <Button size="small" onClick={() => void leave()}>
        Go on
      </Button>
    </div>
  );
}

import { buttonClass } from '../components/button.tsx';
import type { Me } from './session.ts';

export type MovedWorkspace = NonNullable<Me['moved_workspaces']>[number];

/** Workspaces of the user that are on another server now, with links to their dashboards there. */
export function MovedWorkspaces({ moved }: { moved: readonly MovedWorkspace[] }) {
  return (
    <ul className="grid gap-4">
      {moved.map(({ id, name, url }) => (
        <li key={id} className="text-sm text-soft">
          <p>
            <strong className="font-medium break-words text-ink">{name}</strong> has moved to{' '}
            {url === null ? (
              'another server. Ask the operator for its address.'
            ) : (
              <span className="break-all text-ink">{url}</span>
            )}
          </p>
          {url !== null && (
            <a href={dashboardAt(url)} className={`${buttonClass('primary')} mt-2 w-full`}>
              Go to {new URL(url).host}
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

export function dashboardAt(url: string): string {
  return `${url}/app/`;
}

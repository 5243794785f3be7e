import { useNavigate } from '@tanstack/react-router';
import { Check, ChevronsUpDown, LogOut, Monitor, Moon, Plus, Sun, UserRound } from 'lucide-react';
import { useState } from 'react';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../components/menu.tsx';
import { dashboardAt } from '../session/moved-workspaces.tsx';
import { NewWorkspace } from '../session/new-workspace.tsx';
import { switchWorkspace, useMe, useWorkspace } from '../session/session.ts';
import { useSignOut } from '../session/use-sign-out.ts';
import { setTheme, type Theme, useTheme } from './theme.ts';

/** Shows the selected workspace and switches to others. */
export function WorkspaceMenu() {
  const { workspaces, moved_workspaces: moved } = useMe();
  const current = useWorkspace();
  const [creating, setCreating] = useState(false);
  const open = workspaces.filter(({ removed }) => !removed);
  const canCreate = workspaces.some(({ role }) => role === 'owner');
  return (
    <>
      <Menu
        align="start"
        className="w-60"
        trigger={
          <button
            type="button"
            aria-label={`Workspace ${current.name}. Switch`}
            className="flex h-10 w-full items-center gap-2.5 rounded-lg px-2 text-left hover:bg-panel/60"
          >
            <Monogram name={current.name} />
            <span className="min-w-0 flex-1 truncate text-sm font-semibold">{current.name}</span>
            <ChevronsUpDown className="size-3.5 shrink-0 text-faint" aria-hidden />
          </button>
        }
      >
        <MenuLabel>Workspaces</MenuLabel>
        {open.map((workspace) => (
          <MenuItem
            key={workspace.id}
            onSelect={() => void switchWorkspace(workspace.id)}
            hint={
              workspace.id === current.id ? (
                <Check className="size-4 text-accent-ink" aria-label="Current" />
              ) : (
                <span className="text-xs text-faint">{workspace.role}</span>
              )
            }
          >
            {workspace.name}
          </MenuItem>
        ))}
        {moved.length > 0 && <MenuLabel>Moved to another server</MenuLabel>}
        {moved.map(({ id, name, url }) => (
          <MenuItem
            key={id}
            disabled={url === null}
            onSelect={() => location.assign(dashboardAt(url as string))}
            hint={
              <span className="min-w-0 truncate text-xs text-faint">
                {url === null ? 'Ask the operator' : new URL(url).host}
              </span>
            }
          >
            {name}
          </MenuItem>
        ))}
        {canCreate && (
          <>
            <MenuSeparator />
            <MenuItem icon={Plus} onSelect={() => setCreating(true)}>
              New workspace
            </MenuItem>
          </>
        )}
      </Menu>
      {creating && <NewWorkspace onClose={() => setCreating(false)} />}
    </>
  );
}

function Monogram({ name }: { name: string }) {
  return (
    <span
      aria-hidden
      data-initial={initialOf(name)}
      className="inline-flex size-6 shrink-0 items-center justify-center rounded-md bg-accent text-xs font-bold text-on-accent before:content-[attr(data-initial)]"
    />
  );
}

/** Rendered with CSS so that the initial is not part of the button's accessible name. */
function initialOf(name: string): string {
  return [...name.trim()][0]?.toUpperCase() ?? '·';
}

const THEMES: { theme: Theme; label: string; icon: typeof Sun }[] = [
  { theme: 'light', label: 'Light', icon: Sun },
  { theme: 'dark', label: 'Dark', icon: Moon },
  { theme: 'system', label: 'System', icon: Monitor },
];

/** The user's account, the theme, and signing out. */
export function AccountMenu() {
  const me = useMe();
  const theme = useTheme();
  const navigate = useNavigate();
  const signOut = useSignOut();
  return (
    <Menu
      align="start"
      className="w-60"
      trigger={
        <button
          type="button"
          aria-label={`${me.name}. Your account`}
          className="flex h-10 w-full items-center gap-2.5 rounded-lg px-2 text-left hover:bg-panel/60"
        >
          <span
            aria-hidden
            data-initial={initialOf(me.name)}
            className="inline-flex size-6 shrink-0 items-center justify-center rounded-full bg-panel text-xs font-semibold text-soft ring-1 ring-(--canvas-line) before:content-[attr(data-initial)]"
          />
          <span className="min-w-0 flex-1">
            <span className="block truncate text-sm font-medium">{me.name}</span>
          </span>
        </button>
      }
    >
      <MenuLabel>{me.email}</MenuLabel>
      <MenuItem icon={UserRound} onSelect={() => void navigate({ to: '/settings' })}>
        Your account
      </MenuItem>
      <MenuSeparator />
      {THEMES.map(({ theme: value, label, icon }) => (
        <MenuItem
          key={value}
          icon={icon}
          onSelect={() => setTheme(value)}
          hint={
            value === theme && <Check className="size-4 text-accent-ink" aria-label="Selected" />
          }
        >
          {label}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={signOut}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

import { useNavigate } from '@tanstack/react-router';
import {
  ArrowRight,
  Building2,
  LogOut,
  type LucideIcon,
  Moon,
  Plus,
  Search,
  Sun,
  ToggleRight,
} from 'lucide-react';
import { useEffect, useId, useMemo, useState } from 'react';
import { classNames } from '../parts/class-names.ts';
import { useModal } from '../parts/use-modal.ts';
import { goToMode, usePlace } from '../session/place.ts';
import { changeWorkspace, useMay, useMe, useWorkspace } from '../session/session.ts';
import { useSignOut } from '../session/use-sign-out.ts';
import { Kbd } from './keyboard-help.tsx';
import { PAGES, REFERENCE } from './places.ts';
import { chooseTheme } from './theme.ts';

interface Command {
  label: string;
  icon: LucideIcon;
  /** Other words people look for. */
  words?: string;
  keys?: string;
  run: () => void;
}

/** Everything by name: type a few letters, press Enter. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const dialog = useModal();
  const commands = useCommands();
  const found = useFound(commands, text);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    document.getElementById(`${listId}-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [listId, chosen]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click beside it; Escape is the browser's own.
    <dialog
      ref={dialog}
      aria-label="Command palette"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      className="dialog mx-auto mt-[12vh] w-[calc(100%-2rem)] max-w-lg overflow-hidden rounded-xl border border-line bg-raised text-ink shadow-pop"
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search className="size-4 shrink-0 text-faint" aria-hidden />
        <input
          type="text"
          role="combobox"
          aria-label="Type a command, a page or an id"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={chosen >= 0 ? `${listId}-${chosen}` : undefined}
          placeholder="Go to a page, do something, or paste an id"
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') {
              event.preventDefault();
              run(found[chosen]);
            } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
              event.preventDefault();
              const step = event.key === 'ArrowDown' ? 1 : -1;
              setAt((chosen + step + found.length) % Math.max(found.length, 1));
            }
          }}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-faint"
        />
      </div>
      <div
        id={listId}
        role="listbox"
        aria-label="Commands"
        className="max-h-80 overflow-y-auto p-1.5"
      >
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input that owns the list.
          // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the input (aria-activedescendant).
          <div
            key={command.label}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerMove={() => setAt(index)}
            onClick={() => run(command)}
            className={classNames(
              'flex min-h-9 cursor-default items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm',
              index === chosen && 'bg-accent-wash',
            )}
          >
            <command.icon className="size-4 shrink-0 text-faint" aria-hidden />
            <span className="min-w-0 flex-1 break-words">{command.label}</span>
            {command.keys && <Kbd>{command.keys}</Kbd>}
          </div>
        ))}
        {found.length === 0 && (
          <p className="px-2.5 py-6 text-center text-sm text-soft">Nothing of that name.</p>
        )}
      </div>
    </dialog>
  );
}

function useCommands(): Command[] {
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { workspaces } = useMe();
  const current = useWorkspace();
  const { mode } = usePlace();
  const may = useMay();
  const go =
    (to: string, search: Record<string, string> = {}) =>
    () =>
      void navigate({ to, search } as never);
  const pages = PAGES.filter(({ right }) => right === undefined || may(right)).map(
    ({ to, label, icon, key }): Command => ({ label, icon, keys: `g ${key}`, run: go(to) }),
  );
  const makes: [string, string, string][] = [
    ['write:api_keys', 'Create an API key', '/api-keys'],
    ['write:domains', 'Add a domain', '/domains'],
    ['write:templates', 'Create a template', '/templates'],
    ['write:webhooks', 'Add a webhook endpoint', '/webhooks'],
    ['write:suppressions', 'Suppress an address', '/suppressions'],
    ['write:contacts', 'Add a contact', '/contacts'],
    ['write:members', 'Invite somebody', '/team'],
  ];
  const other = mode === 'live' ? 'test' : 'live';
  return [
    ...pages,
    ...makes
      .filter(([right]) => may(right))
      .map(([, label, to]): Command => ({ label, icon: Plus, run: go(to, { new: 'true' }) })),
    {
      label: `Switch to ${other} mode`,
      icon: ToggleRight,
      words: 'live test mode',
      run: () => goToMode(other),
    },
    ...workspaces
      .filter(({ id }) => id !== current.id)
      .map(
        ({ id, name }): Command => ({
          label: `Go to workspace ${name}`,
          icon: Building2,
          run: () => void changeWorkspace(id),
        }),
      ),
    {
      label: REFERENCE.label,
      icon: REFERENCE.icon,
      words: 'docs documentation openapi help',
      run: () => location.assign(REFERENCE.href),
    },
    { label: 'Light theme', icon: Sun, run: () => chooseTheme('light') },
    { label: 'Dark theme', icon: Moon, run: () => chooseTheme('dark') },
    {
      label: 'Sign out',
      icon: LogOut,
      words: 'log out leave',
      run: signOut,
    },
  ];
}

/** Where the thing with an id is seen; `/find` looks for what has another address than its id. */
const ID_PAGES: Record<string, (id: string) => object> = {
  msg: (id) => ({ to: '/messages/$id', params: { id } }),
  dom: (id) => ({ to: '/domains/$id', params: { id } }),
  whk: (id) => ({ to: '/webhooks/$id', params: { id } }),
  ctc: (id) => ({ to: '/contacts', search: { open: id } }),
  ...Object.fromEntries(
    ['whd', 'tpl', 'lay', 'prt', 'sup'].map((prefix) => [
      prefix,
      (id: string) => ({ to: '/find/$id', params: { id } }),
    ]),
  ),
};

function useFound(commands: Command[], text: string): Command[] {
  const navigate = useNavigate();
  return useMemo(() => {
    const wanted = text.trim();
    if (wanted === '') return commands;
    const page = ID_PAGES[/^([a-z]{3})_[0-9a-z]{26}$/.exec(wanted)?.[1] ?? ''];
    if (page) {
      return [
        {
          label: `Open ${wanted}`,
          icon: ArrowRight,
          run: () => void navigate(page(wanted) as never),
        },
      ];
    }
    const words = wanted.toLowerCase().split(/\s+/);
    const matching = commands.filter(({ label, words: more = '' }) => {
      const all = `${label} ${more}`.toLowerCase();
      return words.every((word) => all.includes(word));
    });
    return [
      ...matching,
      {
        label: `Search messages for “${wanted}”`,
        icon: Search,
        run: () => void navigate({ to: '/messages', search: { q: wanted } } as never),
      },
    ];
  }, [commands, text, navigate]);
}

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
import { useModal } from '../components/use-modal.ts';
import { classNames } from '../lib/class-names.ts';
import { selectMode, useSelection } from '../session/selection.ts';
import { switchWorkspace, useCan, useMe, useWorkspace } from '../session/session.ts';
import { useSignOut } from '../session/use-sign-out.ts';
import { Kbd } from './keyboard-help.tsx';
import { DOCUMENTATION, PAGES } from './navigation-items.ts';
import { type PaletteResult, usePaletteResults } from './palette-results.ts';
import { setTheme } from './theme.ts';

interface Command {
  /** Needed where labels may repeat. */
  id?: string;
  label: string;
  icon: LucideIcon;
  /** What the command opens, beside its label. */
  hint?: string;
  /** Synonyms that also match. */
  keywords?: string;
  keys?: string;
  run: () => void;
}

/** Runs commands and opens pages by name or ID. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [index, setIndex] = useState(0);
  const listId = useId();
  const dialog = useModal();
  const commands = useCommands();
  const found = usePaletteResults(text);
  const matches = useMatches(commands, found, text);
  const selected = Math.min(index, matches.length - 1);
  useEffect(() => {
    document.getElementById(`${listId}-${selected}`)?.scrollIntoView({ block: 'nearest' });
  }, [listId, selected]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop; the browser handles Escape.
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
          aria-label="Type a command, page or ID"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={selected >= 0 ? `${listId}-${selected}` : undefined}
          placeholder="Search or jump to…"
          spellCheck={false}
          autoComplete="off"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setIndex(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') {
              event.preventDefault();
              run(matches[selected]);
            } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
              event.preventDefault();
              const step = event.key === 'ArrowDown' ? 1 : -1;
              setIndex((selected + step + matches.length) % Math.max(matches.length, 1));
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
        {matches.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the input that owns the list.
          // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the input (aria-activedescendant).
          <div
            key={command.id ?? command.label}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === selected}
            onPointerMove={() => setIndex(index)}
            onClick={() => run(command)}
            className={classNames(
              'flex min-h-9 cursor-default items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm',
              index === selected && 'bg-accent-wash',
            )}
          >
            <command.icon className="size-4 shrink-0 text-faint" aria-hidden />
            <span className="min-w-0 flex-1 break-words">{command.label}</span>
            {command.hint && <span className="shrink-0 text-xs text-faint">{command.hint}</span>}
            {command.keys && <Kbd>{command.keys}</Kbd>}
          </div>
        ))}
        {matches.length === 0 && (
          <p className="px-2.5 py-6 text-center text-sm text-soft">No results.</p>
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
  const { mode } = useSelection();
  const can = useCan();
  const go =
    (to: string, search: Record<string, string> = {}) =>
    () =>
      void navigate({ to, search } as never);
  const pages = PAGES.filter(({ permission }) => permission === undefined || can(permission)).map(
    ({ to, label, icon, key }): Command => ({ label, icon, keys: `g ${key}`, run: go(to) }),
  );
  const createCommands: [string, string, string][] = [
    ['write:api_keys', 'Create API key', '/api-keys'],
    ['write:domains', 'Add domain', '/domains'],
    ['write:templates', 'Create template', '/templates'],
    ['write:webhooks', 'Add webhook endpoint', '/webhooks'],
    ['write:streams', 'Create stream', '/streams'],
    ['write:suppressions', 'Add suppression', '/suppressions'],
    ['write:contacts', 'Add contact', '/contacts'],
    ['write:members', 'Invite member', '/team'],
  ];
  if (mode === 'test') {
    createCommands.push(['write:inbound_messages', 'Simulate inbound message', '/inbound']);
  }
  const other = mode === 'live' ? 'test' : 'live';
  return [
    ...pages,
    ...createCommands
      .filter(([permission]) => can(permission))
      .map(([, label, to]): Command => ({ label, icon: Plus, run: go(to, { new: 'true' }) })),
    {
      label: `Switch to ${other} mode`,
      icon: ToggleRight,
      keywords: 'live test mode',
      run: () => selectMode(other),
    },
    ...workspaces
      .filter(({ id }) => id !== current.id)
      .map(
        ({ id, name }): Command => ({
          label: `Switch to workspace ${name}`,
          icon: Building2,
          run: () => void switchWorkspace(id),
        }),
      ),
    {
      label: DOCUMENTATION.label,
      icon: DOCUMENTATION.icon,
      keywords: 'docs api reference openapi guides help',
      run: () => location.assign(DOCUMENTATION.href),
    },
    { label: 'Light theme', icon: Sun, run: () => setTheme('light') },
    { label: 'Dark theme', icon: Moon, run: () => setTheme('dark') },
    {
      label: 'Sign out',
      icon: LogOut,
      keywords: 'log out leave',
      run: signOut,
    },
  ];
}

/** The page for an ID, by its prefix; `/find` resolves objects whose URL does not contain the ID. */
const ID_PAGES: Record<string, (id: string) => object> = {
  msg: (id) => ({ to: '/messages/$id', params: { id } }),
  inm: (id) => ({ to: '/inbound/$id', params: { id } }),
  req: (id) => ({ to: '/requests/$id', params: { id } }),
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

function useMatches(commands: Command[], found: PaletteResult[], text: string): Command[] {
  const navigate = useNavigate();
  const canReadInbound = useCan()('read:inbound_messages');
  return useMemo(() => {
    const query = text.trim();
    if (query === '') return commands;
    const page = ID_PAGES[/^([a-z]{3})_[0-9a-z]{26}$/.exec(query)?.[1] ?? ''];
    if (page) {
      return [
        {
          label: `Open ${query}`,
          icon: ArrowRight,
          run: () => void navigate(page(query) as never),
        },
      ];
    }
    const terms = query.toLowerCase().split(/\s+/);
    const matching = commands.filter(({ label, keywords = '' }) => {
      const all = `${label} ${keywords}`.toLowerCase();
      return terms.every((word) => all.includes(word));
    });
    return [
      ...matching,
      ...found.map(({ target, ...result }) => ({
        ...result,
        run: () => void navigate(target as never),
      })),
      {
        label: `Search messages for “${query}”`,
        icon: Search,
        run: () => void navigate({ to: '/messages', search: { q: query } } as never),
      },
      ...(canReadInbound
        ? [
            {
              label: `Search inbound messages for “${query}”`,
              icon: Search,
              run: () => void navigate({ to: '/inbound', search: { q: query } } as never),
            },
          ]
        : []),
    ];
  }, [commands, found, text, navigate, canReadInbound]);
}

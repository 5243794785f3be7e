import { Bookmark, Trash2 } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useState } from 'react';
import { readSharedPreference, saveSharedPreference } from '../lib/preferences.ts';
import { useSelection } from '../session/selection.ts';
import { Button, IconButton } from './button.tsx';
import { Field, TextInput } from './field.tsx';

type Search = Readonly<Record<string, string>>;

interface SavedFilter {
  name: string;
  search: Search;
}

const MAX_SAVED = 30;
const NAME_LENGTH_MAX = 60;

/**
 * Named filters of a list, kept in this browser for each workspace. To share filters with others,
 * share the URL, which contains them.
 */
export function SavedFilters({
  list,
  filters,
  onApply,
}: {
  list: string;
  /** The search parameters of the page; empty ones do not count. */
  filters: Readonly<Record<string, string | undefined>>;
  onApply: (filters: Record<string, string>) => void;
}) {
  const { workspaceId } = useSelection();
  const key = `filters.${list}.${workspaceId}`;
  const [open, setOpen] = useState(false);
  const [saved, setSaved] = useState<readonly SavedFilter[]>([]);
  const [name, setName] = useState('');
  const current = withoutEmpty(filters);
  const canSave = Object.keys(current).length > 0;
  const store = (next: readonly SavedFilter[]) => {
    setSaved(next);
    saveSharedPreference(key, next.length === 0 ? null : JSON.stringify(next));
  };
  const save = () => {
    const added = { name: name.trim(), search: current };
    const others = saved.filter((one) => one.name !== added.name);
    store([...others, added].slice(-MAX_SAVED));
    setOpen(false);
  };
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next) => {
        setSaved(parseSaved(readSharedPreference(key)));
        setName('');
        setOpen(next);
      }}
    >
      <Popover.Trigger asChild>
        <Button icon={Bookmark}>
          <span className="max-sm:sr-only">Saved</span>
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={12}
          aria-label="Saved filters"
          className="pop z-40 max-h-(--radix-popover-content-available-height) w-72 overflow-y-auto rounded-xl border border-line bg-raised shadow-pop"
        >
          {saved.length > 0 && (
            <ul className="grid p-1" aria-label="Saved filters">
              {saved.map((one) => (
                <li key={one.name} className="flex items-center gap-1">
                  <button
                    type="button"
                    onClick={() => {
                      setOpen(false);
                      onApply(one.search);
                    }}
                    className="min-w-0 flex-1 truncate rounded-md px-2 py-1.5 text-left text-sm -outline-offset-2 hover:bg-sunken"
                  >
                    {one.name}
                  </button>
                  <IconButton
                    icon={Trash2}
                    danger
                    label={`Delete ${one.name}`}
                    onClick={() => store(saved.filter((other) => other !== one))}
                  />
                </li>
              ))}
            </ul>
          )}
          {canSave ? (
            <form
              className="grid gap-2 border-line p-3 not-first:border-t"
              onSubmit={(event) => {
                event.preventDefault();
                if (name.trim() !== '') save();
              }}
            >
              <Field label="Save current filters as">
                <TextInput
                  value={name}
                  maxLength={NAME_LENGTH_MAX}
                  placeholder="Bounces of this week"
                  onChange={(event) => setName(event.target.value)}
                />
              </Field>
              <Button type="submit" kind="primary" disabled={name.trim() === ''}>
                Save
              </Button>
            </form>
          ) : (
            <p className="border-line p-3 text-sm text-soft not-first:border-t">
              Set filters first, then save them here under a name.
            </p>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function withoutEmpty(filters: Readonly<Record<string, string | undefined>>): Search {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given) as Search;
}

/** Browser storage can be edited by hand. */
function parseSaved(text: string | null): SavedFilter[] {
  try {
    const saved: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(saved) ? saved.filter(isSavedFilter) : [];
  } catch {
    return [];
  }
}

function isSavedFilter(one: Partial<SavedFilter> | null): one is SavedFilter {
  return typeof one?.name === 'string' && typeof one.search === 'object' && one.search !== null;
}

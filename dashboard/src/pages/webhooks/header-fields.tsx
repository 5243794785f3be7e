import { Plus, Undo2, X } from 'lucide-react';
import { fieldError } from '../../api/problem.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { TextInput } from '../../components/field.tsx';

/**
 * Custom headers of an endpoint. Stored values are never shown; a stored header can be kept,
 * overwritten or removed.
 */
export interface HeaderRow {
  id: number;
  name: string;
  value: string;
  kept: boolean;
  removed: boolean;
}

export function rowsOf(headers: Record<string, string>): HeaderRow[] {
  return Object.keys(headers).map((name, id) => ({
    id,
    name,
    value: '',
    kept: true,
    removed: false,
  }));
}

/** The change for the API: a value sets a header, null removes it, other headers stay. */
export function headerChange(rows: readonly HeaderRow[]): Record<string, string | null> {
  const change: Record<string, string | null> = {};
  for (const { name, value, kept, removed } of rows) {
    if (kept && removed) change[name] = null;
    else if (name.trim() !== '' && !removed && (!kept || value !== '')) change[name.trim()] = value;
  }
  return change;
}

export function HeaderFields({
  rows,
  onChange,
  error,
}: {
  rows: readonly HeaderRow[];
  onChange: (next: HeaderRow[]) => void;
  error: unknown;
}) {
  const set = (id: number, change: Partial<HeaderRow>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row)));
  const remove = (row: HeaderRow) =>
    row.kept
      ? set(row.id, { removed: !row.removed, value: '' })
      : onChange(rows.filter(({ id }) => id !== row.id));
  const add = () => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1;
    onChange([...rows, { id, name: '', value: '', kept: false, removed: false }]);
  };
  return (
    <div className="grid gap-2">
      {rows.map((row) => (
        <div key={row.id}>
          <div className="flex items-center gap-2">
            <TextInput
              mono
              aria-label="Header name"
              placeholder="X-Api-Key"
              value={row.name}
              readOnly={row.kept}
              onChange={(event) => set(row.id, { name: event.target.value })}
              className={row.removed ? 'line-through' : ''}
            />
            <TextInput
              mono
              aria-label={`Value of ${row.name || 'the header'}`}
              placeholder={row.removed ? 'Removed' : row.kept ? 'Hidden' : 'Value'}
              value={row.value}
              disabled={row.removed}
              onChange={(event) => set(row.id, { value: event.target.value })}
            />
            <IconButton
              icon={row.removed ? Undo2 : X}
              label={row.removed ? `Keep ${row.name}` : `Remove ${row.name || 'this header'}`}
              onClick={() => remove(row)}
            />
          </div>
          {fieldError(error, pointerOf(row.name)) !== undefined && (
            <p className="mt-1 text-xs text-bad">{fieldError(error, pointerOf(row.name))}</p>
          )}
        </div>
      ))}
      <div>
        <Button size="small" icon={Plus} onClick={add}>
          Add header
        </Button>
      </div>
    </div>
  );
}

export function pointerOf(name: string): string {
  return `/headers/${name.trim().replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

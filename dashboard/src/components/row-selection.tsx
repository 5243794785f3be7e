import { X } from 'lucide-react';
import { type ChangeEvent, type ReactNode, useRef, useState } from 'react';
import { formatNumber } from '../lib/format.ts';
import { IconButton } from './button.tsx';

export interface RowSelection {
  has: (id: string) => boolean;
  /** In the order of the list. */
  ids: readonly string[];
  isAll: boolean;
  toggle: (id: string, on: boolean, withShift: boolean) => void;
  toggleAll: (on: boolean) => void;
  clear: () => void;
}

/** Selected rows of a list. A row that leaves the list is no longer selected. */
export function useRowSelection(rows: readonly { id: string }[]): RowSelection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const lastToggled = useRef<string>(undefined);
  const ids = rows.map(({ id }) => id).filter((id) => chosen.has(id));
  const choose = (changed: readonly string[], on: boolean) => {
    const next = new Set(ids);
    for (const id of changed) {
      if (on) next.add(id);
      else next.delete(id);
    }
    setChosen(next);
  };
  return {
    has: (id) => chosen.has(id),
    ids,
    isAll: rows.length > 0 && ids.length === rows.length,
    toggle: (id, on, withShift) => {
      const from = rows.findIndex((row) => row.id === lastToggled.current);
      const to = rows.findIndex((row) => row.id === id);
      lastToggled.current = id;
      const isSpan = withShift && from !== -1 && to !== -1;
      const span = isSpan ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [{ id }];
      choose(
        span.map((row) => row.id),
        on,
      );
    },
    toggleAll: (on) => setChosen(new Set(on ? rows.map(({ id }) => id) : [])),
    clear: () => setChosen(new Set()),
  };
}

/** With Shift, a click also selects the rows since the last click. */
export function RowCheckbox({
  selection,
  id,
  label,
}: {
  selection: RowSelection;
  id: string;
  label: string;
}) {
  return (
    <SelectionCheckbox
      label={`Select ${label}`}
      checked={selection.has(id)}
      onChange={(on, withShift) => selection.toggle(id, on, withShift)}
    />
  );
}

export function AllRowsCheckbox({ selection }: { selection: RowSelection }) {
  return (
    <SelectionCheckbox
      label="Select all loaded rows"
      checked={selection.isAll}
      some={selection.ids.length > 0}
      onChange={selection.toggleAll}
    />
  );
}

function SelectionCheckbox({
  label,
  checked,
  some = false,
  onChange,
}: {
  label: string;
  checked: boolean;
  some?: boolean;
  onChange: (on: boolean, withShift: boolean) => void;
}) {
  return (
    <input
      ref={(box) => {
        if (box) box.indeterminate = some && !checked;
      }}
      type="checkbox"
      aria-label={label}
      checked={checked}
      onChange={(event: ChangeEvent<HTMLInputElement>) =>
        onChange(event.target.checked, (event.nativeEvent as MouseEvent).shiftKey === true)
      }
      className="above block size-3.5 shrink-0 accent-(--accent)"
    />
  );
}

/** The actions for the selected rows, at the bottom of the window. */
export function SelectionBar({
  selection,
  children,
}: {
  selection: RowSelection;
  children: ReactNode;
}) {
  if (selection.ids.length === 0) return null;
  return (
    <div
      role="toolbar"
      aria-label="Selected rows"
      className="pop sticky bottom-4 z-10 mx-auto mt-4 flex max-w-[calc(100%-2rem)] flex-wrap items-center gap-2 rounded-xl border border-line bg-raised py-1.5 pr-1.5 pl-3.5 shadow-pop"
    >
      <span role="status" className="mr-1 text-sm font-medium tabular-nums">
        {formatNumber(selection.ids.length)} selected
      </span>
      {children}
      <IconButton icon={X} label="Clear selection" onClick={selection.clear} />
    </div>
  );
}

import { Search, SearchX } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { TextInput } from './field.tsx';

const TYPING_MS = 250;
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@.]{2,}$/;

/** Waits for a pause in the typing. */
export function SearchInput({
  label,
  value,
  onChange,
  whole,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  /** Only a whole address is looked for. */
  whole?: 'address';
}) {
  const [text, setText] = useState(value);
  const isHalf = whole === 'address' && text !== '' && !ADDRESS.test(text);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value || isHalf) return;
    const timer = setTimeout(() => latest.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, isHalf]);
  return (
    <div className="relative min-w-48 flex-1 basis-64 sm:max-w-sm">
      <Search
        className="pointer-events-none absolute top-2 left-2.5 size-4 text-faint"
        aria-hidden
      />
      <TextInput
        type="search"
        maxLength={200}
        data-search
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          // Leaves the field; the browser would empty it.
          event.preventDefault();
          event.currentTarget.blur();
        }}
        className="pr-8 pl-8"
      />
      {isHalf && (
        <span className="pointer-events-none absolute top-2 right-14 text-xs text-faint">
          a whole address
        </span>
      )}
      {text === '' && (
        <kbd className="pointer-events-none absolute top-1.5 right-2 hidden rounded sm:block border border-line px-1.5 font-mono text-2xs leading-5 text-faint">
          /
        </kbd>
      )}
    </div>
  );
}

/** A search that found nothing: what was looked for, where, and the way back to the whole list. */
export function NoSearchResults({
  what,
  text,
  where,
  onClear,
}: {
  what: string;
  text: string;
  where: string;
  onClear: () => void;
}) {
  return (
    <EmptyState
      icon={SearchX}
      title={`No ${what} with “${text}”`}
      actions={<Button onClick={onClear}>Show all</Button>}
    >
      Each word is looked for in {where}.
    </EmptyState>
  );
}

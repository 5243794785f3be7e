import { Search, SearchX } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { TextInput } from './field.tsx';

const TYPING_MS = 250;
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@.]{2,}$/;

/** A search field that reports its value after a pause in typing. */
export function SearchInput({
  label,
  value,
  onChange,
  complete,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  /** Report only complete email addresses. */
  complete?: 'address';
}) {
  const [text, setText] = useState(value);
  const isIncomplete = complete === 'address' && text !== '' && !ADDRESS.test(text);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value || isIncomplete) return;
    const timer = setTimeout(() => latest.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, isIncomplete]);
  return (
    <div className="relative min-w-48 flex-1 basis-48 sm:max-w-sm">
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
          // Leave the field; by default the browser would clear it.
          event.preventDefault();
          event.currentTarget.blur();
        }}
        className="pr-2.5 pl-8 sm:pr-8"
      />
      {isIncomplete && (
        <span className="pointer-events-none absolute top-2 right-14 text-xs text-faint">
          Enter a full address
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

/** Shown when a search has no results, with a button to clear it. */
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
      title={`No ${what} matching “${text}”`}
      actions={<Button onClick={onClear}>Clear search</Button>}
    >
      Searched in {where}.
    </EmptyState>
  );
}

import { Dialog } from '../components/dialog.tsx';
import { PAGES } from './navigation-items.ts';

const COMMANDS = [
  ['⌘K or Ctrl K', 'Command palette'],
  ['/', 'Search on this page'],
  ['j, k', 'Next row, previous row'],
  ['Enter', 'Open row'],
  ['Esc', 'Close'],
  ['?', 'Keyboard shortcuts'],
];

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <KeyList entries={COMMANDS} />
        <KeyList entries={PAGES.map(({ key, label }) => [`g ${key}`, label])} />
      </div>
    </Dialog>
  );
}

function KeyList({ entries }: { entries: string[][] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] content-start items-center gap-x-3 gap-y-1.5 text-sm">
      {entries.map(([keys, label]) => (
        <div key={keys} className="contents">
          <dt>
            <Kbd>{keys as string}</Kbd>
          </dt>
          <dd className="text-soft">{label}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Kbd({ children }: { children: string }) {
  return (
    <kbd className="rounded border border-line-strong bg-sunken px-1.5 py-0.5 font-mono text-2xs whitespace-nowrap text-soft">
      {children}
    </kbd>
  );
}

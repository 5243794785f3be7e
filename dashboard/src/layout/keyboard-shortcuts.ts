import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isBlockedByDialog } from '../components/dialog.tsx';
import { PAGES } from './navigation-items.ts';

export interface KeyboardActions {
  openPalette: () => void;
  openHelp: () => void;
}

const SEQUENCE_MS = 1_200;

/** The palette shortcut to display; both combinations work on every platform. */
export const PALETTE_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';

/** Global shortcuts, disabled while the user types or a dialog is open. */
export function useKeyboardShortcuts({ openPalette, openHelp }: KeyboardActions): void {
  const navigate = useNavigate();
  useEffect(() => {
    let sequenceEndsAt = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        if (!isBlockedByDialog()) openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
      if (document.querySelector('dialog[open]')) return;
      if (scrollPage(event)) {
        event.preventDefault();
        return;
      }
      if (performance.now() < sequenceEndsAt) {
        sequenceEndsAt = 0;
        const page = PAGES.find(({ key }) => key === event.key);
        if (page) {
          event.preventDefault();
          void navigate({ to: page.to });
          return;
        }
      }
      switch (event.key) {
        case 'g':
          sequenceEndsAt = performance.now() + SEQUENCE_MS;
          return;
        case '/':
          event.preventDefault();
          if (!focusSearch()) openPalette();
          return;
        case '?':
          event.preventDefault();
          openHelp();
          return;
        case 'j':
          moveRow(1);
          return;
        case 'k':
          moveRow(-1);
          return;
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate, openPalette, openHelp]);
}

function isTyping(event: KeyboardEvent): boolean {
  // An editor inside a shadow root is only visible on the composed path.
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Less than a full screen, so that the last line stays visible after paging. */
const PAGE_SHARE = 0.9;
const LINE_PX = 40;

/** How far each key scrolls, given the visible height. */
const PAGE_KEYS: Record<string, (shownPx: number) => number> = {
  PageDown: (shownPx) => shownPx * PAGE_SHARE,
  PageUp: (shownPx) => -shownPx * PAGE_SHARE,
  ' ': (shownPx) => shownPx * PAGE_SHARE,
  ArrowDown: () => LINE_PX,
  ArrowUp: () => -LINE_PX,
  Home: () => Number.MIN_SAFE_INTEGER,
  End: () => Number.MAX_SAFE_INTEGER,
};

/**
 * The content has its own scroll container, which the browser scrolls only while focus is inside it.
 * Right after a page opens, focus is in the navigation, so these keys are handled here.
 */
function scrollPage(event: KeyboardEvent): boolean {
  const distance = PAGE_KEYS[event.key];
  const content = document.querySelector<HTMLElement>('main[data-scroller]');
  const target = event.target;
  if (!distance || !content || event.defaultPrevented || !(target instanceof Element)) return false;
  if (content.contains(target) || target.closest('[role=menu]')) return false;
  // Space presses a focused button.
  if (event.key === ' ' && target.closest('button')) return false;
  const sign = event.key === ' ' && event.shiftKey ? -1 : 1;
  content.scrollBy({ top: sign * distance(content.clientHeight), behavior: 'instant' });
  return true;
}

function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>('[data-search]');
  search?.focus();
  search?.select();
  return search !== null;
}

function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 ? rows[0] : rows[at + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

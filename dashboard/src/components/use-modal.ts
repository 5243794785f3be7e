import { type RefObject, useLayoutEffect, useRef } from 'react';
import { createStore, useStore } from '../lib/store.ts';

/**
 * Opens a dialog over the page as long as it is there, and gives the focus back to where it was. An
 * entry of a menu is gone by then: its menu's button stands for it. Where that is gone too, as after
 * its row was deleted, the content of the page has it.
 */
export function useModal(firstFocus?: string): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // Before the element leaves the page, or the browser would have no focus to give back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    const opener = lastFocused;
    if (!dialog.open) dialog.showModal();
    modals.set([...modals.get(), dialog]);
    if (firstFocus !== undefined) dialog.querySelector<HTMLElement>(firstFocus)?.focus();
    return () => {
      modals.set(modals.get().filter((one) => one !== dialog));
      dialog.close();
      const at = document.activeElement;
      // The browser gave it back, or what closed it has moved it on, into another window perhaps.
      if (at !== null && at !== document.body && !dialog.contains(at)) return;
      const goal = opener?.isConnected ? opener : document.getElementById('content');
      goal?.focus({ preventScroll: true });
    };
  }, [firstFocus]);
  return ref;
}

const modals = createStore<readonly HTMLDialogElement[]>([]);

/** Where to put what must be seen and used now: all that is not in the topmost window lies behind it, dead. */
export function useTopmostDialog(): HTMLElement {
  return useStore(modals).at(-1) ?? document.body;
}

let lastFocused: HTMLElement | null = null;

// Looked at while it happens: a menu is gone from the page when the window it opened comes.
document.addEventListener('focusin', ({ target }) => {
  if (!(target instanceof HTMLElement) || target.closest('dialog')) return;
  const menu = target.closest('[role=menu]');
  lastFocused = document.getElementById(menu?.getAttribute('aria-labelledby') ?? '') ?? target;
});

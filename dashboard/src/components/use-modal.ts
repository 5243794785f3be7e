import { type RefObject, useLayoutEffect, useRef } from 'react';
import { createStore, useStore } from '../lib/store.ts';

/**
 * Opens a dialog while it is mounted and returns focus when it closes. If it was opened from a menu,
 * focus returns to the menu's button; if that is gone too, for example because its row was deleted,
 * focus goes to the page content.
 */
export function useModal(firstFocus?: string): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  // A layout effect, so that the dialog closes before its element is removed from the page.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    const opener = lastFocused;
    if (!dialog.open) dialog.showModal();
    modals.set([...modals.get(), dialog]);
    // A marked element comes first, wherever it is in the dialog.
    const marked = dialog.querySelector<HTMLElement>('[data-first-focus]');
    const first = firstFocus === undefined ? null : dialog.querySelector<HTMLElement>(firstFocus);
    (marked ?? first)?.focus();
    return () => {
      modals.set(modals.get().filter((one) => one !== dialog));
      dialog.close();
      const at = document.activeElement;
      // Focus was already restored by the browser or moved, perhaps into another dialog.
      if (at !== null && at !== document.body && !dialog.contains(at)) return;
      const target = opener?.isConnected ? opener : document.getElementById('content');
      target?.focus({ preventScroll: true });
    };
  }, [firstFocus]);
  return ref;
}

const modals = createStore<readonly HTMLDialogElement[]>([]);

/** Where to render menus and toasts: everything outside the topmost dialog is inert. */
export function useTopmostDialog(): HTMLElement {
  return useStore(modals).at(-1) ?? document.body;
}

let lastFocused: HTMLElement | null = null;

// Tracked continuously, because a menu is removed before the dialog it opens is mounted.
document.addEventListener('focusin', ({ target }) => {
  if (!(target instanceof HTMLElement) || target.closest('dialog')) return;
  const menu = target.closest('[role=menu]');
  lastFocused = document.getElementById(menu?.getAttribute('aria-labelledby') ?? '') ?? target;
});

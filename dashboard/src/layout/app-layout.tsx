import { Outlet } from '@tanstack/react-router';
import { Command, Menu as MenuIcon, Search } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import { sessionEnded } from '../api/session-signals.ts';
import { IconButton } from '../components/button.tsx';
import { useModal } from '../components/use-modal.ts';
import { useStore } from '../lib/store.ts';
import { SessionEndedDialog } from '../session/session-ended-dialog.tsx';
import { CommandPalette } from './command-palette.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { PALETTE_KEYS, useKeyboardShortcuts } from './keyboard-shortcuts.ts';
import { useLiveEvents } from './live-events.ts';
import { AccountDeletionBanner, DeletionBanner, ModeBanner, ModeSwitch } from './mode-switch.tsx';
import { Navigation } from './navigation.tsx';
import { RemovedFromWorkspaceBanner } from './removed-from-workspace.tsx';
import { useScrollRestoration } from './scroll-restoration.ts';
import { AccountMenu, WorkspaceMenu } from './workspace-menu.tsx';

/** Everything around a page: navigation, mode and workspace switchers, account menu, dialogs. */
export function AppLayout() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [drawer, setDrawer] = useState(false);
  const openPalette = useCallback(() => setPalette(true), []);
  const openHelp = useCallback(() => setHelp(true), []);
  useKeyboardShortcuts({ openPalette, openHelp });
  useLiveEvents();
  const ended = useStore(sessionEnded);
  return (
    // In print the page is not a scroll container and the navigation is hidden.
    <div className="flex h-dvh flex-col bg-canvas print:block print:h-auto">
      <a
        href="#content"
        className="absolute left-2 z-70 -translate-y-20 rounded-md bg-accent px-3 py-1.5 text-sm font-medium text-on-accent focus:translate-y-2"
      >
        Skip to content
      </a>
      <DeletionBanner />
      <AccountDeletionBanner />
      <RemovedFromWorkspaceBanner />
      {/* Last, because its badge hangs over what follows. */}
      <ModeBanner />
      <div className="flex min-h-0 flex-1 print:block">
        <aside className="hidden w-58 shrink-0 flex-col gap-3 overflow-y-auto px-2.5 pt-3 pb-2 lg:flex print:hidden">
          <SidebarContent openPalette={openPalette} />
        </aside>
        <div className="flex min-w-0 flex-1 flex-col print:block">
          <header className="flex h-12 shrink-0 items-center gap-2 px-2 lg:hidden print:hidden">
            <IconButton icon={MenuIcon} label="Open navigation" onClick={() => setDrawer(true)} />
            <span className="flex-1 text-sm font-semibold">Postrider</span>
            <IconButton icon={Search} label="Search" onClick={openPalette} />
            <div className="w-28">
              <ModeSwitch />
            </div>
          </header>
          <Content />
        </div>
      </div>
      {drawer && (
        <NavigationDrawer onClose={() => setDrawer(false)}>
          <SidebarContent openPalette={openPalette} onChoose={() => setDrawer(false)} />
        </NavigationDrawer>
      )}
      {palette && <CommandPalette onClose={() => setPalette(false)} />}
      {help && <KeyboardHelp onClose={() => setHelp(false)} />}
      <ConfirmDialog />
      {ended && <SessionEndedDialog />}
    </div>
  );
}

/** The scroll container of a page. */
function Content() {
  const ref = useRef<HTMLElement>(null);
  useScrollRestoration(ref);
  return (
    <main
      ref={ref}
      id="content"
      tabIndex={-1}
      data-scroller
      className="min-h-0 flex-1 overflow-y-auto border-(--canvas-line) border-t bg-panel outline-none lg:mt-2 lg:mr-2 lg:mb-2 lg:rounded-xl lg:border lg:shadow-panel print:m-0 print:overflow-visible print:border-0 print:shadow-none"
    >
      <Outlet />
    </main>
  );
}

function SidebarContent({
  openPalette,
  onChoose,
}: {
  openPalette: () => void;
  onChoose?: () => void;
}) {
  return (
    <>
      <WorkspaceMenu />
      <ModeSwitch />
      <button
        type="button"
        onClick={openPalette}
        className="flex h-8 shrink-0 items-center gap-2 rounded-md border border-(--canvas-line) bg-panel/50 px-2 text-sm text-soft hover:bg-panel"
      >
        <Command className="size-3.5" aria-hidden />
        <span className="flex-1 text-left">Search or jump to…</span>
        <kbd className="font-mono text-2xs">{PALETTE_KEYS}</kbd>
      </button>
      {/* The account stays in view below it, except in very low windows, where everything scrolls. */}
      <div className="-mx-1 min-h-48 flex-1 overflow-y-auto px-1">
        <Navigation {...(onChoose ? { onChoose } : {})} />
      </div>
      <AccountMenu />
    </>
  );
}

function NavigationDrawer({
  onClose,
  children,
}: {
  onClose: () => void;
  children: React.ReactNode;
}) {
  const ref = useModal();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop; the browser handles Escape.
    <dialog
      ref={ref}
      aria-label="Navigation"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className="drawer m-0 h-dvh max-h-dvh w-68 bg-canvas text-ink shadow-pop"
    >
      <div className="flex h-full flex-col gap-3 overflow-y-auto px-2.5 pt-3 pb-2">{children}</div>
    </dialog>
  );
}

import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { useEffect } from 'react';
import { createPortal } from 'react-dom';
import { toProblem } from '../api/problem.ts';
import { IconButton } from '../components/button.tsx';
import { useTopmostDialog } from '../components/use-modal.ts';
import { classNames } from '../lib/class-names.ts';
import { createStore, useStore } from '../lib/store.ts';

/** A short confirmation or error, optionally with an action such as Undo. */
interface Toast {
  id: number;
  /** An absolute time, because the toast remounts when a dialog opens or closes. */
  expiresAtMs: number;
  tone: 'good' | 'bad';
  text: string;
  detail?: string;
  action?: { label: string; run: () => void };
}

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

const SHOWN_MS = 5_000;
const SHOWN_WITH_ACTION_MS = 9_000;
/** A little longer than the toast is visible, so that a late click on Undo still counts. */
const UNDO_MS = SHOWN_WITH_ACTION_MS + 500;
const MAX_TOASTS = 4;

export function showToast(text: string, action?: Toast['action']): void {
  add({ tone: 'good', text, ...(action ? { action } : {}) });
}

export function showErrorToast(error: unknown): void {
  const problem = toProblem(error);
  add({ tone: 'bad', text: problem.detail, detail: problem.fix });
}

/** Runs an action after a delay unless the user undoes it; until then the UI only hides the item. */
export function runWithUndo(
  text: string,
  steps: { hide: () => void; show: () => void; run: () => Promise<unknown> },
): void {
  steps.hide();
  const timer = setTimeout(() => {
    steps.run().catch((error) => {
      steps.show();
      showErrorToast(error);
    });
  }, UNDO_MS);
  showToast(text, {
    label: 'Undo',
    run: () => {
      clearTimeout(timer);
      steps.show();
    },
  });
}

function add(toast: Omit<Toast, 'id' | 'expiresAtMs'>): void {
  lastId += 1;
  const shownMs = toast.action || toast.tone === 'bad' ? SHOWN_WITH_ACTION_MS : SHOWN_MS;
  const added = { ...toast, id: lastId, expiresAtMs: Date.now() + shownMs };
  toasts.set([...toasts.get(), added].slice(-MAX_TOASTS));
}

function remove(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useStore(toasts);
  const topmost = useTopmostDialog();
  return createPortal(
    <section
      aria-label="Notifications"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 left-4 z-60 flex flex-col items-end gap-2 sm:left-auto"
    >
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </section>,
    topmost,
  );
}

function ToastCard({ toast }: { toast: Toast }) {
  const { id, action, tone, expiresAtMs } = toast;
  useEffect(() => {
    const timer = setTimeout(() => remove(id), expiresAtMs - Date.now());
    return () => clearTimeout(timer);
  }, [id, expiresAtMs]);
  const Icon = tone === 'good' ? CircleCheck : CircleAlert;
  return (
    <div className="pop pointer-events-auto flex w-full max-w-sm items-start gap-2.5 rounded-lg border border-line bg-raised py-2.5 pr-2 pl-3 text-sm shadow-pop">
      <Icon
        className={classNames('mt-0.5 size-4 shrink-0', tone === 'good' ? 'text-good' : 'text-bad')}
        aria-hidden
      />
      <div className="min-w-0 flex-1">
        <p className="font-medium break-words">{toast.text}</p>
        {toast.detail && <p className="text-soft">{toast.detail}</p>}
      </div>
      {action && (
        <button
          type="button"
          className="shrink-0 rounded px-1.5 font-medium text-accent-ink hover:underline"
          onClick={() => {
            remove(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <IconButton icon={X} label="Dismiss" className="-my-1" onClick={() => remove(id)} />
    </div>
  );
}

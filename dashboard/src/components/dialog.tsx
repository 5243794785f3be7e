import { X } from 'lucide-react';
import { type MouseEvent, type ReactNode, useId, useRef, useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { Button, IconButton } from './button.tsx';
import { useModal } from './use-modal.ts';

/**
 * A modal dialog based on the native element: focus is trapped, the page behind is inert, and Escape
 * closes it, after a confirmation if the user has typed something. `side` shows it as a panel on the
 * right.
 */
export interface DialogProps {
  title: ReactNode;
  description?: ReactNode;
  onClose: () => void;
  children: ReactNode;
  side?: boolean;
  wide?: boolean;
  /** Cannot be dismissed with Escape, a backdrop click or a close button. */
  persistent?: boolean;
  /** Closes without confirmation even if something was typed, because it is quick to retype. */
  skipDiscardCheck?: boolean;
}

/** Marks dialogs that global shortcuts must not leave: persistent ones and those with input. */
const BLOCKS_NAVIGATION = { 'data-blocks-navigation': '' };

export function isBlockedByDialog(): boolean {
  return document.querySelector('dialog[open][data-blocks-navigation]') !== null;
}

const FIRST_FOCUS = 'form input:not([readonly]), form select, form textarea, form button';

export function Dialog({
  title,
  description,
  onClose,
  children,
  side,
  wide,
  persistent,
  skipDiscardCheck,
}: DialogProps) {
  const ref = useModal(FIRST_FOCUS);
  const pressedBackdrop = useRef(false);
  const editedFields = useRef(new Set<Element>());
  const [edited, setEdited] = useState(false);
  const [confirmingDiscard, setConfirmingDiscard] = useState(false);
  // Escape and backdrop clicks can be accidental; the close button and actions are not.
  const dismiss = () => {
    if (persistent) return;
    const hasInput = [...editedFields.current].some((field) => field.isConnected);
    if (hasInput && !skipDiscardCheck) setConfirmingDiscard(true);
    else onClose();
  };
  const titleId = useId();
  const descriptionId = useId();
  return (
    <dialog
      ref={ref}
      {...(persistent || (edited && !skipDiscardCheck) ? BLOCKS_NAVIGATION : {})}
      aria-labelledby={titleId}
      aria-describedby={description === undefined ? undefined : descriptionId}
      onCancel={(event) => {
        event.preventDefault();
        dismiss();
      }}
      onClose={({ currentTarget }) => {
        // Browsers close a dialog on the second Escape in a row; reopen it and ask.
        if (!currentTarget.isConnected || currentTarget.open) return;
        currentTarget.showModal();
        dismiss();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        dismiss();
      }}
      onInput={({ target }) => {
        editedFields.current.add(target as Element);
        setEdited(true);
      }}
      onPointerDown={(event) => {
        pressedBackdrop.current = isOnBackdrop(event);
      }}
      onClick={(event) => {
        // Require press and release on the backdrop: a text selection may also end there.
        if (pressedBackdrop.current && isOnBackdrop(event)) dismiss();
      }}
      className={classNames(
        'border border-line bg-raised text-ink shadow-pop',
        side
          ? 'sheet mt-0 mr-0 mb-0 ml-auto h-dvh max-h-dvh w-full max-w-xl overflow-y-auto sm:rounded-l-xl'
          : 'dialog m-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] overflow-y-auto rounded-xl',
        !side && (wide ? 'max-w-3xl' : 'max-w-lg'),
      )}
    >
      <div className="flex items-start gap-3 px-5 pt-4 pb-1">
        <div className="min-w-0 flex-1">
          <h2 id={titleId} className="text-lg font-semibold">
            {title}
          </h2>
          {description !== undefined && (
            <p id={descriptionId} className="mt-0.5 text-sm text-soft">
              {description}
            </p>
          )}
        </div>
        {!persistent && <IconButton icon={X} label="Close" onClick={onClose} className="-mr-1.5" />}
      </div>
      <div className="px-5 pt-3 pb-5">{children}</div>
      {confirmingDiscard && (
        <DiscardDialog onKeep={() => setConfirmingDiscard(false)} onDiscard={onClose} />
      )}
    </dialog>
  );
}

function DiscardDialog({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <Dialog
      title="Discard unsaved changes?"
      description="Your changes will be lost."
      onClose={onKeep}
    >
      <DialogButtons>
        <Button kind="danger" onClick={onDiscard}>
          Discard changes
        </Button>
        <Button data-first-focus onClick={onKeep}>
          Keep editing
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

/** Backdrop clicks target the dialog element itself, as do clicks on its own padding. */
function isOnBackdrop({ target, currentTarget, clientX, clientY }: MouseEvent<HTMLDialogElement>) {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  const within = clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
  return target === currentTarget && !within;
}

/** The row of buttons at the end of a dialog. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-6 flex flex-wrap justify-end gap-2">{children}</div>;
}

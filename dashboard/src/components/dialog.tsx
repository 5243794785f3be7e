import { X } from 'lucide-react';
import { type MouseEvent, type ReactNode, useId, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classNames } from '../lib/class-names.ts';
import { useModal } from './use-modal.ts';

/**
 * A window over the page, as the browser itself makes them: focus stays inside, Escape closes (and
 * asks first, where something is filled in), the page behind is inert. `side` slides a tall panel in from the right instead.
 */
export interface DialogProps {
  title: ReactNode;
  description?: ReactNode;
  onClose: () => void;
  children: ReactNode;
  side?: boolean;
  wide?: boolean;
  /** Must be answered: no Escape, no click beside it, no cross. */
  persistent?: boolean;
  /** What is typed into it is typed again in a moment: a slip closes it without a question. */
  skipDiscardCheck?: boolean;
}

/** Nothing may lead away from it but itself: it must be answered, or has words in it. */
const BLOCKS_NAVIGATION = { 'data-holds': '' };

export function isBlockedByDialog(): boolean {
  return document.querySelector('dialog[open][data-holds]') !== null;
}

const FIRST_FOCUS =
  '[data-first-focus], form input:not([readonly]), form select, form textarea, form button';

export function Dialog({
  title,
  description,
  onClose,
  children,
  side,
  wide,
  persistent: stays,
  skipDiscardCheck: nothingToLose,
}: DialogProps) {
  const ref = useModal(FIRST_FOCUS);
  const pressedBackdrop = useRef(false);
  const editedFields = useRef(new Set<Element>());
  const [edited, setEdited] = useState(false);
  const [confirmingDiscard, setConfirmingDiscard] = useState(false);
  // Escape and a click beside it happen by accident; the cross and the buttons do not.
  const dismiss = () => {
    if (stays) return;
    const filled = [...editedFields.current].some((field) => field.isConnected);
    if (filled && !nothingToLose) setConfirmingDiscard(true);
    else onClose();
  };
  const titleId = useId();
  const descriptionId = useId();
  return (
    <dialog
      ref={ref}
      {...(stays || (edited && !nothingToLose) ? BLOCKS_NAVIGATION : {})}
      aria-labelledby={titleId}
      aria-describedby={description === undefined ? undefined : descriptionId}
      onCancel={(event) => {
        event.preventDefault();
        dismiss();
      }}
      onClose={({ currentTarget }) => {
        // The browser insists when it is asked twice in a row, and would leave a window that nobody sees.
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
        // Pressed and let go: a selection that is drawn out of a field also ends beside the window.
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
        {!stays && <IconButton icon={X} label="Close" onClick={onClose} className="-mr-1.5" />}
      </div>
      <div className="px-5 pt-3 pb-5">{children}</div>
      {confirmingDiscard && <DiscardDialog onStay={() => setConfirmingDiscard(false)} onDrop={onClose} />}
    </dialog>
  );
}

function DiscardDialog({ onStay: onKeep, onDrop: onDiscard }: { onStay: () => void; onDrop: () => void }) {
  return (
    <Dialog
      title="Close without saving?"
      description="What you have filled in is lost then."
      onClose={onKeep}
    >
      <DialogButtons>
        <Button kind="danger" onClick={onDiscard}>
          Close without saving
        </Button>
        <Button data-first-focus onClick={onKeep}>
          Go on filling in
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

/** What lies around a dialog belongs to it, as does the part of it that nothing stands on. */
function isOnBackdrop({ target, currentTarget, clientX, clientY }: MouseEvent<HTMLDialogElement>) {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  const within = clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
  return target === currentTarget && !within;
}

/** The row of buttons at the end of a form. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-6 flex flex-wrap justify-end gap-2">{children}</div>;
}

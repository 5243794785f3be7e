import { X } from 'lucide-react';
import { type MouseEvent, type ReactNode, useId, useRef } from 'react';
import { IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { useModal } from './use-modal.ts';

/**
 * A window over the page, as the browser itself makes them: focus stays inside, Escape closes, the
 * page behind is inert. `side` slides a tall panel in from the right instead.
 */
export interface DialogProps {
  title: ReactNode;
  description?: ReactNode;
  onClose: () => void;
  children: ReactNode;
  side?: boolean;
  wide?: boolean;
  /** Must be answered: no Escape, no click beside it, no cross. */
  stays?: boolean;
}

const FIRST_FOCUS =
  '[data-first-focus], form input:not([readonly]), form select, form textarea, form button';

export function Dialog({ title, description, onClose, children, side, wide, stays }: DialogProps) {
  const ref = useModal(FIRST_FOCUS);
  const pressedBeside = useRef(false);
  const titleId = useId();
  const descriptionId = useId();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click beside it; Escape is the browser's own.
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      aria-describedby={description === undefined ? undefined : descriptionId}
      onCancel={(event) => {
        event.preventDefault();
        if (!stays) onClose();
      }}
      onPointerDown={(event) => {
        pressedBeside.current = isBeside(event);
      }}
      onClick={(event) => {
        // Pressed and let go: a selection that is drawn out of a field also ends beside the window.
        if (!stays && pressedBeside.current && isBeside(event)) onClose();
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
    </dialog>
  );
}

/** What lies around a dialog belongs to it, as does the part of it that nothing stands on. */
function isBeside({ target, currentTarget, clientX, clientY }: MouseEvent<HTMLDialogElement>) {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  const within = clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
  return target === currentTarget && !within;
}

/** The row of buttons at the end of a form. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-6 flex flex-wrap justify-end gap-2">{children}</div>;
}

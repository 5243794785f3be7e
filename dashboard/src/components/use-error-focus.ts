import { useEffect, useRef } from 'react';

/**
 * After a failed submit, moves the focus to the first field with an error, so that a screen reader
 * announces it, or back to the submit button, which lost the focus while it was disabled.
 */
export function useErrorFocus(error: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!error) return;
    const find = (selector: string) => form.current?.querySelector<HTMLElement>(selector);
    const invalid = find('[aria-invalid=true]');
    if (invalid) invalid.focus();
    else if (document.activeElement === document.body) find('[type=submit]')?.focus();
  }, [error]);
  return form;
}

import { invalidFields } from '../../lib/refused-error.ts';

/** The stream that every Postmark server has for transactional mail. */
export const OUTBOUND = 'outbound';

export function checkStream(stream: string | null | undefined, pointer: string): void {
  if (stream === undefined || stream === null || stream === OUTBOUND) return;
  const detail = `There is no stream "${stream}". All mail is sent through "${OUTBOUND}".`;
  throw invalidFields([{ pointer, code: 'unsupported', detail }]);
}

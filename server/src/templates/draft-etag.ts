import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { ID_PREFIXES } from './content/stored-content.ts';
import type { Template } from './template-store.ts';

/**
 * The ETag of a draft revision. It contains the id, so it never matches another template that is
 * created later with the same key.
 */
export function draftEtag({ kind, id, draftRevision }: Template): string {
  return `"${encodeId(ID_PREFIXES[kind], id)}.${draftRevision}"`;
}

/** ETags of the draft revisions the caller accepts (If-Match); undefined accepts any. */
export type ExpectedDraft = readonly string[] | undefined;

/** Call while holding the row lock, so that the draft cannot change between this check and the update. */
export function assertDraftUnchanged(template: Template, expected: ExpectedDraft): void {
  if (expected === undefined || expected.includes(draftEtag(template))) return;
  const at = new Date(template.updatedAtMs).toISOString();
  throw new RefusedError(
    'draft_changed',
    `The draft does not match If-Match: ${template.updatedBy} changed it at ${at}.`,
  );
}

import { RefusedError } from '../lib/refused-error.ts';
import { draftEtag } from './public-template.ts';
import type { Template } from './template-store.ts';

/** The states of a draft, by their tags, that somebody has seen; undefined: whatever it says. */
export type ExpectedDraft = readonly string[] | undefined;

/** Under the lock of its row, so that the draft cannot move between this look and the change. */
export function assertDraftUnchanged(template: Template, expected: ExpectedDraft): void {
  if (expected === undefined || expected.includes(draftEtag(template))) return;
  const at = new Date(template.updatedAtMs).toISOString();
  throw new RefusedError(
    'draft_changed',
    `The draft is no longer the one that If-Match names: ${template.updatedBy} changed it at ${at}.`,
  );
}

import type { Queryable } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { type ContentRef, countTemplates } from './template-store.ts';

/** Per kind; far more than any workspace needs. */
const TEMPLATES_MAX = 10_000;

/** Rejects a new template, layout or partial if the workspace has too many. The caller holds its lock. */
export async function assertTemplateQuota(db: Queryable, ref: ContentRef): Promise<void> {
  if ((await countTemplates(db, ref)) < TEMPLATES_MAX) return;
  const detail = `A workspace can have at most ${TEMPLATES_MAX} ${ref.kind}s. Delete one first.`;
  throw new RefusedError('quota_exceeded', detail);
}

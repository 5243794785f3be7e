import { EMPTY_CONTENT, type StoredContent } from '../../templates/content/stored-content.ts';
import { listDrafts } from '../../templates/template-store.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace } from '../choose-workspace.ts';
import type { CommandInput } from '../command.ts';
import { Progress } from '../terminal.ts';
import type { TemplateItem } from './template-folder.ts';

/** Drafts are requested in pages, because each can be large. */
const PAGE = 100;

export interface Draft extends TemplateItem {
  name: string;
  content: StoredContent;
}

export interface Drafts {
  drafts: Draft[];
  /** The workspace or the server that they are from. */
  where: string;
}

/** The drafts of all templates, layouts and partials. */
export async function readDrafts(input: CommandInput): Promise<Drafts> {
  using progress = new Progress({ json: input.flag('json') });
  const drafts: Draft[] = [];
  const add = (...more: Draft[]): void => {
    drafts.push(...more);
    progress.update(`Reading templates: ${drafts.length}`);
  };
  const where = await onTarget(input, {
    api: async ({ client, url }) => {
      const query = { limit: PAGE };
      for await (const { kind, key, name, fields } of client.all<ApiDraft>('/template-drafts', {
        query,
      })) {
        add({ kind, key, name, content: { ...EMPTY_CONTENT, ...fields } });
      }
      return url;
    },
    database: async ({ pool, ...parts }) => {
      const workspace = await chooseWorkspace(input, { pool, ...parts });
      for (let after: Draft | undefined; ; after = drafts.at(-1)) {
        const page = await listDrafts(pool, workspace.id, { after, limit: PAGE });
        add(...page.drafts.map((one) => ({ ...one, content: one.draft })));
        if (!page.hasMore) return `workspace "${workspace.name}"`;
      }
    },
  });
  return { drafts, where };
}

interface ApiDraft extends TemplateItem {
  name: string;
  fields: Partial<StoredContent>;
}

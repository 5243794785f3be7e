import { hash } from 'node:crypto';
import type { DeclaredVariable } from './infer-variables.ts';
import { localeChain } from './locales.ts';
import { ContentLimitError, ContentSyntaxError, type Place, parseContent } from './substitution.ts';

/**
 * What a template, layout or partial holds, in its draft and in each of its published versions: the
 * fields as their author wrote them. Layouts and partials use only html, text and locales.
 */

export const CONTENT_KINDS = ['template', 'layout', 'partial'] as const;

export type ContentKind = (typeof CONTENT_KINDS)[number];

export interface StoredContent {
  subject: string | null;
  html: string | null;
  /** Null: made from html. */
  text: string | null;
  from: Sender | null;
  reply_to: Sender[];
  /** The key of a layout. */
  layout: string | null;
  /** Variants by canonical BCP 47 tag. */
  locales: Record<string, Words>;
  variables: DeclaredVariable[];
}

export interface Sender {
  /** Of an address that answers go to: may hold placeholders. */
  email: string;
  /** May hold placeholders. */
  name?: string;
}

export interface Words {
  subject?: string;
  html?: string;
  text?: string;
}

export const EMPTY_CONTENT: StoredContent = {
  subject: null,
  html: null,
  text: null,
  from: null,
  reply_to: [],
  layout: null,
  locales: {},
  variables: [],
};

/** A version number, or the draft. */
export type VersionName = number | 'draft';

/** Contents that belong together: what one message is made of. */
export interface Recipe {
  key: string;
  version: VersionName;
  template: StoredContent;
  layout: { key: string; content: StoredContent } | undefined;
  partials: ReadonlyMap<string, StoredContent>;
}

/**
 * The words for a locale, and under which name its nearest variant stands. A field that this variant
 * lacks is that of the next (`de-AT` → `de` → the template's own), except that html in one language is
 * never joined by text from further off, which would be another language.
 */
export function wordsIn(
  content: StoredContent,
  locale: string | undefined,
): Words & { locale: string | undefined } {
  const chain = localeChain(locale, Object.keys(content.locales));
  const layers = [...chain.map((name) => content.locales[name] ?? {}), ownWords(content)];
  const upToHtml = layers.findIndex(({ html }) => html !== undefined);
  const textLayers = upToHtml === -1 ? layers : layers.slice(0, upToHtml + 1);
  const first = (field: keyof Words, from: readonly Words[]): Words => {
    const found = from.find((words) => words[field] !== undefined)?.[field];
    return found === undefined ? {} : { [field]: found };
  };
  return {
    ...first('subject', layers),
    ...first('html', layers),
    ...first('text', textLayers),
    locale: chain[0],
  };
}

/** Where a text of a variant really stands: in a variant, or in the template itself. */
export function fieldName(
  content: StoredContent,
  locale: string | undefined,
  field: keyof Words,
): string {
  const owner = localeChain(locale, Object.keys(content.locales)).find(
    (name) => content.locales[name]?.[field] !== undefined,
  );
  return owner === undefined ? field : `locales.${owner}.${field}`;
}

export function ownWords({ subject, html, text }: StoredContent): Words {
  return {
    ...(subject === null ? {} : { subject }),
    ...(html === null ? {} : { html }),
    ...(text === null ? {} : { text }),
  };
}

export const PLACES = { subject: 'header', html: 'html', text: 'text' } as const satisfies Record<
  keyof Words,
  Place
>;

/** The partials that the content renders itself, in any variant. What cannot be parsed uses none. */
export function partialsUsed(content: StoredContent): string[] {
  const keys = new Set<string>();
  for (const words of [ownWords(content), ...Object.values(content.locales)]) {
    for (const [field, source] of Object.entries(words) as [keyof Words, string][]) {
      // Parsing costs more than looking.
      if (!source.includes('render')) continue;
      try {
        for (const key of parseContent(source, PLACES[field], field).partialKeys) keys.add(key);
      } catch (error) {
        const broken = error instanceof ContentSyntaxError || error instanceof ContentLimitError;
        if (!broken) throw error;
      }
    }
  }
  return [...keys].sort();
}

/** Equal for equal content, so that a publication without a change can be told. */
export function contentHash(content: StoredContent): Buffer {
  return hash('sha256', JSON.stringify(content), 'buffer');
}

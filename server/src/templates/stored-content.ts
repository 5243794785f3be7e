import { hash } from 'node:crypto';
import type { DeclaredVariable } from './infer-variables.ts';
import { pickLocale } from './locales.ts';
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
 * The words for a locale, and under which name the variant has them. A field that a variant lacks is
 * the template's own, except that html in one language is never joined by text in another.
 */
export function wordsIn(
  content: StoredContent,
  locale: string | undefined,
): Words & { locale: string | undefined } {
  const own = ownWords(content);
  const name = pickLocale(locale, Object.keys(content.locales));
  const variant = name === undefined ? undefined : content.locales[name];
  if (!variant) return { ...own, locale: undefined };
  const { text: ownText, ...others } = own;
  const text = variant.html === undefined && ownText !== undefined ? { text: ownText } : {};
  return { ...others, ...text, ...variant, locale: name };
}

/** Where a text of a variant really stands: in the variant, or in the template itself. */
export function fieldName(
  content: StoredContent,
  locale: string | undefined,
  field: keyof Words,
): string {
  const isOwn = locale === undefined || content.locales[locale]?.[field] === undefined;
  return isOwn ? field : `locales.${locale}.${field}`;
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

import { hash } from 'node:crypto';
import type { IdPrefix } from '../../lib/ids.ts';
import { localeChain } from '../locales.ts';
import {
  ContentLimitError,
  ContentSyntaxError,
  type OutputFormat,
  parseContent,
} from '../template-engine.ts';
import type { DeclaredVariable } from '../variables/infer-variables.ts';

/**
 * The content of a template, layout or partial, in its draft and in each published version: the
 * fields as their author wrote them. Layouts and partials only use html, text and locales.
 */

export const CONTENT_KINDS = ['template', 'layout', 'partial'] as const;

export type ContentKind = (typeof CONTENT_KINDS)[number];

/** Prefixes of public ids. */
export const ID_PREFIXES: Record<ContentKind, IdPrefix> = {
  template: 'tpl',
  layout: 'lay',
  partial: 'prt',
};

export interface StoredContent {
  subject: string | null;
  html: string | null;
  /** Null: generated from html. */
  text: string | null;
  from: Sender | null;
  reply_to: Sender[];
  /** The key of the stream of sends that name none; null for the default. */
  stream: string | null;
  /** The key of a layout. */
  layout: string | null;
  /** Locale variants by canonical BCP 47 tag. */
  locales: Record<string, LocaleContent>;
  variables: DeclaredVariable[];
}

export interface Sender {
  /** In a reply-to address, may contain placeholders. */
  email: string;
  /** May contain placeholders. */
  name?: string;
}

export interface LocaleContent {
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
  stream: null,
  layout: null,
  locales: {},
  variables: [],
};

/** A version number, or the draft. */
export type VersionSelector = number | 'draft';

/** A template with the layout and partials it is rendered with. */
export interface ResolvedSources {
  key: string;
  version: VersionSelector;
  template: StoredContent;
  layout: { key: string; content: StoredContent } | undefined;
  partials: ReadonlyMap<string, StoredContent>;
}

/**
 * The content for a locale, and the name of the most specific variant. A field that this variant
 * lacks is taken from the next one (`de-AT` → `de` → base content). Text is never taken from a less
 * specific variant than html, because it would be in another language.
 */
export function contentForLocale(
  content: StoredContent,
  locale: string | undefined,
): LocaleContent & { locale: string | undefined } {
  const chain = localeChain(locale, Object.keys(content.locales));
  const layers = [...chain.map((name) => content.locales[name] ?? {}), baseContent(content)];
  const upToHtml = layers.findIndex(({ html }) => html !== undefined);
  const textLayers = upToHtml === -1 ? layers : layers.slice(0, upToHtml + 1);
  const first = (field: keyof LocaleContent, from: readonly LocaleContent[]): LocaleContent => {
    const found = from.find((localized) => localized[field] !== undefined)?.[field];
    return found === undefined ? {} : { [field]: found };
  };
  return {
    ...first('subject', layers),
    ...first('html', layers),
    ...first('text', textLayers),
    locale: chain[0],
  };
}

/** The name of the field that actually provides a text: in a variant, or in the base content. */
export function fieldName(
  content: StoredContent,
  locale: string | undefined,
  field: keyof LocaleContent,
): string {
  const owner = localeChain(locale, Object.keys(content.locales)).find(
    (name) => content.locales[name]?.[field] !== undefined,
  );
  return owner === undefined ? field : `locales.${owner}.${field}`;
}

export function baseContent({ subject, html, text }: StoredContent): LocaleContent {
  return {
    ...(subject === null ? {} : { subject }),
    ...(html === null ? {} : { html }),
    ...(text === null ? {} : { text }),
  };
}

export const FIELD_FORMATS = {
  subject: 'header',
  html: 'html',
  text: 'text',
} as const satisfies Record<keyof LocaleContent, OutputFormat>;

/** Keys of the partials that the content renders directly, in any variant. Unparsable fields have none. */
export function referencedPartials(content: StoredContent): string[] {
  const keys = new Set<string>();
  for (const localized of [baseContent(content), ...Object.values(content.locales)]) {
    for (const [field, source] of Object.entries(localized) as [keyof LocaleContent, string][]) {
      // A substring search is much cheaper than parsing.
      if (!source.includes('render')) continue;
      try {
        for (const key of parseContent(source, FIELD_FORMATS[field], field).partialKeys)
          keys.add(key);
      } catch (error) {
        const broken = error instanceof ContentSyntaxError || error instanceof ContentLimitError;
        if (!broken) throw error;
      }
    }
  }
  return [...keys].sort();
}

/** Equal for equal content, which shows whether a draft has unpublished changes. */
export function contentHash(content: StoredContent): Buffer {
  return hash('sha256', JSON.stringify(content), 'buffer');
}

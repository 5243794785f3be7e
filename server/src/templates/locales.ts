import { pathUses } from './path-uses.ts';
import type { ParsedContent, Partials } from './template-engine.ts';

/** A template's language variants: which one a send gets, and what a variant lacks. */

/**
 * The variants for a wanted locale, nearest first: the locale itself, then with its subtags cut off
 * one by one (RFC 4647 3.4, `de-AT` → `de`). After the last comes the template's own content.
 */
export function localeChain(locale: string | undefined, available: Iterable<string>): string[] {
  const canonical = canonicalLocale(locale);
  if (canonical === undefined) return [];
  const byName = new Map<string, string>();
  for (const name of available) byName.set((canonicalLocale(name) ?? name).toLowerCase(), name);
  const chain: string[] = [];
  const subtags = canonical.toLowerCase().split('-');
  while (subtags.length > 0) {
    const found = byName.get(subtags.join('-'));
    if (found !== undefined) chain.push(found);
    subtags.pop();
    // A single letter begins an extension and means nothing without what followed.
    if ((subtags.at(-1)?.length ?? 0) === 1) subtags.pop();
  }
  return chain;
}

/** The usual spelling of a BCP 47 tag; undefined when it is none. */
export function canonicalLocale(tag: string | undefined): string | undefined {
  if (tag === undefined || tag.length > 100) return undefined;
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}

export interface ParsedFields {
  subject?: ParsedContent | undefined;
  html?: ParsedContent | undefined;
  text?: ParsedContent | undefined;
}

export interface TranslationGap {
  locale: string;
  /** A field that the variant does not have, or a path that it does not use. */
  kind: 'field' | 'path';
  name: string;
}

/** What the template's own content has and a variant has not: most often a forgotten translation. */
export function translationGaps(
  base: ParsedFields,
  variants: Readonly<Record<string, ParsedFields>>,
  partials?: Partials,
): TranslationGap[] {
  const basePaths = pathsOf(base, partials);
  return Object.entries(variants).flatMap(([locale, variant]) => {
    const gaps: TranslationGap[] = [];
    for (const field of ['subject', 'html', 'text'] as const) {
      if (base[field] && !variant[field]) gaps.push({ locale, kind: 'field', name: field });
    }
    const paths = pathsOf(variant, partials);
    for (const path of basePaths) {
      if (!paths.has(path)) gaps.push({ locale, kind: 'path', name: path });
    }
    return gaps;
  });
}

function pathsOf(fields: ParsedFields, partials: Partials | undefined): Set<string> {
  const paths = new Set<string>();
  for (const field of [fields.subject, fields.html, fields.text]) {
    if (!field) continue;
    for (const use of pathUses(field, partials)) paths.add(use.path);
  }
  return paths;
}

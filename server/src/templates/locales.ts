import { pathUses } from './checks/path-uses.ts';
import type { ParsedContent, Partials } from './template-engine.ts';

/** Locale variants of a template: which one a send uses, and what each of them lacks. */

/**
 * The variants that match a locale, most specific first: the locale itself, then with its subtags
 * removed one by one (RFC 4647 section 3.4, `de-AT` → `de`). The template's base content comes after
 * the last of them.
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
    // A single-letter subtag introduces an extension and is meaningless alone.
    if ((subtags.at(-1)?.length ?? 0) === 1) subtags.pop();
  }
  return chain;
}

/** The canonical form of a BCP 47 tag; undefined when it is not valid. */
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
  /** A field that the variant lacks, or a path that it does not use. */
  kind: 'field' | 'path';
  name: string;
}

/** What the base content has and a variant lacks, which is usually a forgotten translation. */
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

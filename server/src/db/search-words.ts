/**
 * What `q` means in a list: each of its words stands somewhere in a row's texts, whatever its case.
 * Rows are looked at one by one: for tables that are small in each workspace, or walked in bounded
 * steps. Of very many words only the first count, since each is looked for in every row.
 */

/** A page of a list, newest first. */
export interface SearchedPage {
  /** The id of the last one of the page before. */
  before?: string;
  limit: number;
  /** Words to look for. */
  text?: string;
}

const WORDS_MAX = 10;

/** In lower case and each once; null when there is nothing to look for. */
export function searchWords(text: string | undefined): string[] | null {
  const words = new Set(text?.toLowerCase().split(/\s+/).filter(Boolean));
  return words.size === 0 ? null : [...words].slice(0, WORDS_MAX);
}

/** The words as patterns for `holdsWords`; in a word, `%` and `_` are what they are. */
export function searchPatterns(text: string | undefined): string[] | null {
  const words = searchWords(text);
  return words?.map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`) ?? null;
}

/**
 * A condition on `columns`; `parameter` holds the patterns, or null, which lets all rows pass.
 * The lower case is not made in the collation of a column of keys, "C", which has one for ASCII
 * alone. In a text of 700 characters of any alphabet `like` takes 2 us for a word, `strpos` 12.
 */
export function holdsWords(parameter: `$${number}`, columns: readonly string[]): string {
  const texts = `concat_ws(e'\\n', ${columns.join(', ')}) collate "default"`;
  return `(${parameter}::text[] is null or lower(${texts}) collate "C" like all (${parameter}))`;
}

/**
 * A full-text index in memory. A passage is found if it contains every word of the query, or the
 * beginning of longer words; matches in titles come first. If nothing contains all words, passages
 * with some of them are found.
 */

export interface IndexedPassage {
  /** Path and anchor. */
  url: string;
  page: string;
  title: string;
  text: string;
}

export interface SearchHit {
  url: string;
  page: string;
  title: string;
  /** The text around the first match. */
  excerpt: string;
}

const TITLE_WEIGHT = 2;
const PAGE_WEIGHT = 0.5;
/** Repetition helps less and less, so that long passages do not win. */
const HALF_WEIGHT_COUNT = 4;
const WORDS_MAX = 8;
const QUERY_CHARACTERS_MAX = 200;
/** A word that only begins like the one in the query counts less. */
const PREFIX_WEIGHT = 0.4;
const EXCERPT_CHARACTERS = 180;

interface Posting {
  passage: number;
  weight: number;
}

export class SearchIndex {
  readonly #passages: IndexedPassage[] = [];
  readonly #postings = new Map<string, Posting[]>();
  /** All words in order, for prefixes; made when the index is complete. */
  #words: string[] | undefined;

  add(passage: IndexedPassage): void {
    const at = this.#passages.push(passage) - 1;
    const weights = new Map<string, number>();
    const raise = (word: string, weight: number): void => {
      weights.set(word, (weights.get(word) ?? 0) + weight);
    };
    const titleWords = new Set(wordsOf(passage.title));
    // A word says more about a short title than about a long one.
    for (const word of titleWords) raise(word, TITLE_WEIGHT / Math.sqrt(titleWords.size));
    for (const word of new Set(wordsOf(passage.page))) raise(word, PAGE_WEIGHT);
    for (const [word, count] of countsOf(wordsOf(passage.text))) {
      raise(word, count / (count + HALF_WEIGHT_COUNT));
    }
    for (const [word, weight] of weights) {
      const postings = this.#postings.get(word);
      if (postings) postings.push({ passage: at, weight });
      else this.#postings.set(word, [{ passage: at, weight }]);
    }
    this.#words = undefined;
  }

  find(query: string, limit: number): SearchHit[] {
    const words = [...new Set(wordsOf(query.slice(0, QUERY_CHARACTERS_MAX)))].slice(0, WORDS_MAX);
    const scores = new Map<number, { words: number; score: number }>();
    for (const word of words) {
      for (const [passage, weight] of this.#matches(word)) {
        const known = scores.get(passage) ?? { words: 0, score: 0 };
        scores.set(passage, { words: known.words + 1, score: known.score + weight });
      }
    }
    const best = Math.max(0, ...[...scores.values()].map((one) => one.words));
    return [...scores]
      .filter(([, one]) => one.words === best)
      .sort(([a, left], [b, right]) => right.score - left.score || a - b)
      .slice(0, limit)
      .map(([at]) => hitOf(this.#passages[at] as IndexedPassage, words));
  }

  /** The passages with a word, or with one that begins like it, and how well they match. */
  #matches(word: string): Map<number, number> {
    const found = new Map<number, number>();
    for (const candidate of this.#wordsFrom(word)) {
      const postings = this.#postings.get(candidate) ?? [];
      const rarity = Math.log(1 + this.#passages.length / postings.length);
      const factor = rarity * (candidate === word ? 1 : PREFIX_WEIGHT);
      for (const { passage, weight } of postings) {
        found.set(passage, Math.max(found.get(passage) ?? 0, weight * factor));
      }
    }
    return found;
  }

  #wordsFrom(prefix: string): string[] {
    this.#words ??= [...this.#postings.keys()].sort();
    let low = 0;
    let high = this.#words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] as string) < prefix) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (this.#words[end]?.startsWith(prefix)) end += 1;
    return this.#words.slice(low, end);
  }
}

/** Lower-case words without the ending of a plural, so that "signatures" finds "signature". */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem);
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.length > 3 && /[^su]s$/.test(word) ? word.slice(0, -1) : word;
}

function hitOf({ url, page, title, text }: IndexedPassage, words: readonly string[]): SearchHit {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  const lower = flat.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = Math.min(...places, Math.max(0, flat.length - 1));
  const start = first < 60 ? 0 : flat.lastIndexOf(' ', first - 40) + 1;
  const cut = flat.slice(start, start + EXCERPT_CHARACTERS);
  const end = start + cut.length < flat.length ? '…' : '';
  return { url, page, title, excerpt: `${start > 0 ? '…' : ''}${cut.trim()}${end}` };
}

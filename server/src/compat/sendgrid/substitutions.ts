import { invalidFields } from '../../lib/refused-error.ts';
import type { SizeBudget } from '../size-budget.ts';

/** As at SendGrid, for the tags and values of one personalization together. */
const BYTES_MAX = 10_000;

/**
 * Replaces the substitution tags of a personalization, such as `-name-`, by their values. Values are
 * inserted as they are and are not searched again, so a value cannot refer to another one. Where two
 * tags begin at the same position, the longer one is replaced. Time is linear in the text, whatever the
 * tags are (Aho and Corasick); a regular expression of all tags takes seconds for hostile ones.
 */
export class Substitutions {
  readonly #values: ReadonlyMap<string, string>;
  readonly #tags: TagNode | undefined;
  readonly #budget: SizeBudget;

  constructor(values: Readonly<Record<string, string>>, budget: SizeBudget, pointer: string) {
    checkTags(values, pointer);
    this.#values = new Map(Object.entries(values));
    this.#tags = this.#values.size > 0 ? buildTags(this.#values.keys()) : undefined;
    this.#budget = budget;
  }

  apply(text: string): string {
    const pieces: string[] = [];
    let end = 0;
    for (const { tag, index } of this.#tags ? findTags(text, this.#tags) : []) {
      if (index < end) continue;
      const value = this.#values.get(tag) as string;
      this.#budget.spend(index - end + value.length);
      pieces.push(text.slice(end, index), value);
      end = index + tag.length;
    }
    this.#budget.spend(text.length - end);
    return end === 0 ? text : pieces.join('') + text.slice(end);
  }
}

/** A node stands for the end of a tag, as it is found when a text is read backwards. */
interface TagNode {
  next: Map<number, TagNode>;
  /** The node for the longest shorter end; the root has none. */
  fallback: TagNode | undefined;
  /** The longest tag that begins where the node is reached. */
  tag: string | undefined;
}

function buildTags(tags: Iterable<string>): TagNode {
  const root = newNode();
  for (const tag of tags) {
    let node = root;
    for (let i = tag.length - 1; i >= 0; i--) {
      const code = tag.charCodeAt(i);
      const child = node.next.get(code) ?? newNode();
      node.next.set(code, child);
      node = child;
    }
    node.tag = tag;
  }
  // Level by level, because a fallback is always nearer to the root.
  for (let level = [root]; level.length > 0; ) {
    const children: TagNode[] = [];
    for (const node of level) {
      for (const [code, child] of node.next) {
        child.fallback = node === root ? root : step(node.fallback as TagNode, code);
        child.tag ??= child.fallback.tag;
        children.push(child);
      }
    }
    level = children;
  }
  return root;
}

function newNode(): TagNode {
  return { next: new Map(), fallback: undefined, tag: undefined };
}

function step(from: TagNode, code: number): TagNode {
  let node = from;
  for (;;) {
    const next = node.next.get(code);
    if (next) return next;
    if (!node.fallback) return node;
    node = node.fallback;
  }
}

/** For each position where tags begin, the longest one, in ascending order. */
function findTags(text: string, root: TagNode): { index: number; tag: string }[] {
  const found: { index: number; tag: string }[] = [];
  let node = root;
  for (let index = text.length - 1; index >= 0; index--) {
    node = step(node, text.charCodeAt(index));
    if (node.tag !== undefined) found.push({ index, tag: node.tag });
  }
  return found.reverse();
}

function checkTags(values: Readonly<Record<string, string>>, pointer: string): void {
  let bytes = 0;
  for (const [tag, value] of Object.entries(values)) {
    if (tag === '') throw invalid('A substitution tag cannot be empty.');
    bytes += Buffer.byteLength(tag) + Buffer.byteLength(value);
  }
  if (bytes > BYTES_MAX) {
    throw invalid(
      `Substitutions can have at most ${BYTES_MAX} bytes for each personalization; these have ${bytes}.`,
    );
  }

  function invalid(detail: string) {
    return invalidFields([{ pointer, code: 'invalid_length', detail }]);
  }
}

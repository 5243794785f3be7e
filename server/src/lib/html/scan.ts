import { type HtmlAttribute, HtmlTokenizer } from './tokenizer.ts';

/** All tags of a document with their attributes and offsets, for linting it and patching it in place. */

export interface HtmlTag {
  name: string;
  kind: 'start' | 'end';
  /** The range from `<` to after `>`. */
  start: number;
  end: number;
  attributes: HtmlAttribute[];
}

export interface HtmlScan {
  tags: HtmlTag[];
  /** Content of style, script, title and similar elements, which contains no tags. */
  rawTexts: { tag: HtmlTag; start: number; end: number }[];
  /** Where the tag, comment or raw text element starts that the document ends in. */
  unclosedAt: number | undefined;
}

export function scanHtml(html: string): HtmlScan {
  const tokenizer = new HtmlTokenizer(html);
  const scan: HtmlScan = { tags: [], rawTexts: [], unclosedAt: undefined };
  while (tokenizer.next()) {
    const { kind, name, start, end } = tokenizer;
    if (kind === 'text') continue;
    if (kind === 'raw-text') scan.rawTexts.push({ tag: scan.tags.at(-1) as HtmlTag, start, end });
    else {
      const attributes = tokenizer.attributes();
      scan.tags.push({
        name,
        kind: kind === 'start-tag' ? 'start' : 'end',
        start,
        end,
        attributes,
      });
    }
  }
  scan.unclosedAt = tokenizer.unclosedAt;
  return scan;
}

/** The first attribute of this name, which is the one that browsers use. */
export function attributeOf(tag: HtmlTag, name: string): HtmlAttribute | undefined {
  return tag.attributes.find((attribute) => attribute.name === name);
}

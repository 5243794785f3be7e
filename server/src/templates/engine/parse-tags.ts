import type { Expr, RenderNode } from './content-nodes.ts';
import { ExpressionError, type ExpressionReader } from './parse-expression.ts';

/** Parses the arguments of tags. */

interface Tag {
  name: string;
  at: number;
}

const RESERVED = new Set(['contact', 'message', 'forloop', 'content']);

/** Parses the name that a tag assigns. */
export function parseNewName(tag: Tag, reader: ExpressionReader): string {
  const name = reader.identifier();
  if (name === '') throw new ExpressionError(tag.at, `\`{% ${tag.name} %}\` needs a name.`);
  if (RESERVED.has(name)) throw new ExpressionError(tag.at, `The name \`${name}\` is reserved.`);
  return name;
}

export interface ForTag {
  variable: string;
  list: Expr;
  offset: Expr | undefined;
  limit: Expr | undefined;
  reversed: boolean;
}

export function parseForTag(tag: Tag, reader: ExpressionReader): ForTag {
  const variable = parseNewName(tag, reader);
  if (!reader.accept('in')) {
    throw new ExpressionError(tag.at, 'A loop must be written as `{% for item in list %}`.');
  }
  const list = reader.value();
  let offset: Expr | undefined;
  let limit: Expr | undefined;
  let reversed = false;
  while (!reader.ended()) {
    reader.accept(',');
    const at = reader.at;
    const option = reader.identifier();
    if (option === 'reversed') reversed = true;
    else if (option === 'offset' && reader.accept(':')) offset = reader.value();
    else if (option === 'limit' && reader.accept(':')) limit = reader.value();
    else {
      const detail = 'Only `limit:`, `offset:` and `reversed` are allowed after the list.';
      throw new ExpressionError(at, detail);
    }
  }
  return { variable, list, offset, limit, reversed };
}

export function parseWhenValues(reader: ExpressionReader): Expr[] {
  const values = [reader.value()];
  while (reader.accept(',') || reader.accept('or')) values.push(reader.value());
  reader.expectEnd();
  return values;
}

export function parseCycleTag(reader: ExpressionReader): {
  group: Expr | undefined;
  values: Expr[];
} {
  let group: Expr | undefined;
  const values = [reader.value()];
  if (reader.accept(':')) {
    group = values.pop();
    values.push(reader.value());
  }
  while (reader.accept(',')) values.push(reader.value());
  reader.expectEnd();
  return { group, values };
}

export function parseRenderTag(tag: Tag, reader: ExpressionReader): RenderNode {
  const file = reader.value();
  if (file.kind !== 'literal' || typeof file.value !== 'string') {
    const detail = 'The key of a partial must be in quotes: `{% render "footer" %}`.';
    throw new ExpressionError(tag.at, detail);
  }
  const node: RenderNode = {
    kind: 'render',
    key: file.value,
    values: [],
    binding: undefined,
    at: tag.at,
  };
  while (!reader.ended()) {
    reader.accept(',');
    const at = reader.at;
    const name = reader.identifier();
    if (reader.accept(':')) node.values.push({ name, expr: reader.value() });
    else if ((name === 'with' || name === 'for') && !node.binding) {
      const expr = reader.value();
      const alias = reader.accept('as') ? reader.identifier() : node.key;
      node.binding = { name: alias, expr, each: name === 'for' };
    } else throw new ExpressionError(at, 'Pass values to a partial as `name: value`.');
  }
  return node;
}

/**
 * Compares a schema with its later form. What a request may hold must not shrink, what an answer
 * may hold must not grow, except that objects of answers may get new fields and enums new values.
 */

type Json = Record<string, unknown>;

export type Direction = 'request' | 'response';

interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Json[];
  format?: string;
  properties?: Record<string, Json>;
  required?: string[];
  additionalProperties?: unknown;
  patternProperties?: Record<string, Json>;
  items?: Json;
}

export class SchemaComparison {
  readonly #before: Json;
  readonly #after: Json;
  readonly #underWay = new Set<string>();

  constructor(before: Json, after: Json) {
    this.#before = before;
    this.#after = after;
  }

  /** What breaks, one line each; `at` names the place. */
  changes(direction: Direction, before: Json, after: Json, at: string): string[] {
    const pair = `${direction} ${before.$ref} ${after.$ref}`;
    const named = before.$ref !== undefined && after.$ref !== undefined;
    // A schema that holds itself is being compared already.
    if (named && this.#underWay.has(pair)) return [];
    if (named) this.#underWay.add(pair);
    const [was, now] = [resolve(this.#before, before), resolve(this.#after, after)];
    const found = this.#variantChanges(direction, was, now, at);
    if (named) this.#underWay.delete(pair);
    return found;
  }

  #variantChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const olds = was.anyOf ?? [was as Json];
    const news = now.anyOf ?? [now as Json];
    if (olds.length === 1 && news.length === 1) {
      return this.#plainChanges(direction, olds[0] as Schema, news[0] as Schema, at);
    }
    // Every old form of a request must still be taken; every new form of an answer must be known.
    const [mustMatch, among] = direction === 'request' ? [olds, news] : [news, olds];
    return mustMatch.flatMap((one) => {
      const attempts = among.map((other) =>
        direction === 'request'
          ? this.changes(direction, one, other, at)
          : this.changes(direction, other, one, at),
      );
      return attempts.sort((a, b) => a.length - b.length)[0] ?? [];
    });
  }

  #plainChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const place = at === '' ? 'the body' : at;
    if (was.$ref !== undefined || now.$ref !== undefined) {
      return this.changes(direction, was as Json, now as Json, at);
    }
    const [narrow, wide] = direction === 'request' ? [was, now] : [now, was];
    const loosened = narrow.type === wide.type && wide.format === undefined;
    if (kindOf(was) !== kindOf(now) && !loosened) {
      return [`${place} was ${kindOf(was)} and is ${kindOf(now)}`];
    }
    return [
      ...valueChanges(direction, was, now, place),
      ...(direction === 'request' ? boundChanges(was as Json, now as Json, place) : []),
      ...this.#fieldChanges(direction, was, now, at),
      ...this.#insideChanges(direction, was, now, at),
    ];
  }

  #fieldChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const found: string[] = [];
    const place = (name: string): string => (at === '' ? name : `${at}.${name}`);
    for (const [name, old] of Object.entries(was.properties ?? {})) {
      const present = now.properties?.[name];
      const wasRequired = was.required?.includes(name);
      if (!present) found.push(`${place(name)} is gone`);
      else {
        found.push(...this.changes(direction, old, present, place(name)));
        if (direction === 'response' && wasRequired && !now.required?.includes(name)) {
          found.push(`${place(name)} may be absent now`);
        }
      }
    }
    if (direction === 'response') return found;
    const demanded = (now.required ?? []).filter((name) => !was.required?.includes(name));
    return [...found, ...demanded.map((name) => `${place(name)} is required now`)];
  }

  /** Items of lists and values of maps. */
  #insideChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const [oldValue, newValue] = [mapValue(was), mapValue(now)];
    return [
      ...(was.items && now.items ? this.changes(direction, was.items, now.items, `${at}[]`) : []),
      ...(oldValue && newValue ? this.changes(direction, oldValue, newValue, `${at}.*`) : []),
      ...(direction === 'request' && was.type === 'object' && isOpen(was) && !isOpen(now)
        ? [`${at === '' ? 'the body' : at} takes no further fields now`]
        : []),
    ];
  }
}

function resolve(components: Json, schema: Json): Schema {
  const name = (schema as Schema).$ref?.split('/').at(-1);
  return (name === undefined ? schema : (components[name] ?? {})) as Schema;
}

function kindOf({ type, format, const: value }: Schema): string {
  const kind = type ?? (value === undefined ? 'anything' : typeof value);
  return format === undefined ? kind : `${kind} (${format})`;
}

function valueChanges(direction: Direction, was: Schema, now: Schema, place: string): string[] {
  const [old, young] = [was, now].map(({ enum: values, const: value }) =>
    value === undefined ? values : [value],
  );
  if (direction === 'response') {
    // Clients are told that lists of values grow; a list where there was none is no break either.
    return was.const !== undefined && !young?.includes(was.const)
      ? [`${place} was always ${JSON.stringify(was.const)}`]
      : [];
  }
  if (!young) return [];
  if (!old) return [`${place} takes only ${young.join(', ')} now`];
  const gone = old.filter((value) => !young.includes(value));
  return gone.length > 0 ? [`${place} no longer takes ${gone.join(', ')}`] : [];
}

const UPPER = ['maxLength', 'maxItems', 'maximum', 'maxProperties'];
const LOWER = ['minLength', 'minItems', 'minimum', 'minProperties'];

function boundChanges(was: Json, now: Json, place: string): string[] {
  const tighter = [
    ...UPPER.filter((key) => Number(now[key] ?? Infinity) < Number(was[key] ?? Infinity)),
    ...LOWER.filter((key) => Number(now[key] ?? 0) > Number(was[key] ?? 0)),
    ...(now.pattern !== undefined && now.pattern !== was.pattern ? ['pattern'] : []),
  ];
  return tighter.map((key) => `${place}: ${key} was ${was[key] ?? 'not set'} and is ${now[key]}`);
}

function mapValue(schema: Schema): Json | undefined {
  const { additionalProperties: rest, patternProperties } = schema;
  return typeof rest === 'object' && rest !== null
    ? (rest as Json)
    : Object.values(patternProperties ?? {})[0];
}

function isOpen(schema: Schema): boolean {
  return schema.additionalProperties !== false || schema.patternProperties !== undefined;
}

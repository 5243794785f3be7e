/**
 * Compares a schema with its later version. A request schema must not accept less than before. A
 * response schema must not allow more, except that objects may get new fields and enums new values.
 */

type Json = Record<string, unknown>;

export type Direction = 'request' | 'response';

interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Json[];
  oneOf?: Json[];
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
  readonly #inProgress = new Set<string>();

  constructor(before: Json, after: Json) {
    this.#before = before;
    this.#after = after;
  }

  /** Returns one line per breaking change; `at` is the path of the schema. */
  changes(direction: Direction, before: Json, after: Json, at: string): string[] {
    const pair = `${direction} ${before.$ref} ${after.$ref}`;
    const named = before.$ref !== undefined && after.$ref !== undefined;
    // A recursive schema is already being compared.
    if (named && this.#inProgress.has(pair)) return [];
    if (named) this.#inProgress.add(pair);
    const [was, now] = [resolve(this.#before, before), resolve(this.#after, after)];
    const found = this.#variantChanges(direction, was, now, at);
    if (named) this.#inProgress.delete(pair);
    return found;
  }

  #variantChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    if (direction === 'response' && was.oneOf && now.oneOf) {
      return this.#unionChanges(was.oneOf, now.oneOf, at);
    }
    const olds = was.anyOf ?? was.oneOf ?? [was as Json];
    const news = now.anyOf ?? now.oneOf ?? [now as Json];
    if (olds.length === 1 && news.length === 1) {
      return this.#schemaChanges(direction, olds[0] as Schema, news[0] as Schema, at);
    }
    // Every old variant of a request must still be accepted; every new variant of a response must match an old one.
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

  /** A discriminated union may grow, as event types do; its alternatives are compared by name. */
  #unionChanges(was: Json[], now: Json[], at: string): string[] {
    return was.flatMap((old) => {
      const present = now.find(({ $ref }) => $ref === old.$ref);
      if (present) return this.changes('response', old, present, at);
      return [`${at}: the alternative ${String(old.$ref).split('/').at(-1)} was removed`];
    });
  }

  #schemaChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const place = at === '' ? 'the body' : at;
    if (was.$ref !== undefined || now.$ref !== undefined) {
      return this.changes(direction, was as Json, now as Json, at);
    }
    const [narrow, wide] = direction === 'request' ? [was, now] : [now, was];
    const loosened = narrow.type === wide.type && wide.format === undefined;
    if (kindOf(was) !== kindOf(now) && !loosened) {
      return [`${place} changed from ${kindOf(was)} to ${kindOf(now)}`];
    }
    return [
      ...valueChanges(direction, was, now, place),
      ...(direction === 'request' ? boundChanges(was as Json, now as Json, place) : []),
      ...this.#fieldChanges(direction, was, now, at),
      ...this.#elementChanges(direction, was, now, at),
    ];
  }

  #fieldChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const found: string[] = [];
    const place = (name: string): string => (at === '' ? name : `${at}.${name}`);
    for (const [name, old] of Object.entries(was.properties ?? {})) {
      const present = now.properties?.[name];
      const wasRequired = was.required?.includes(name);
      if (!present) found.push(`${place(name)} was removed`);
      else {
        found.push(...this.changes(direction, old, present, place(name)));
        if (direction === 'response' && wasRequired && !now.required?.includes(name)) {
          found.push(`${place(name)} is now optional`);
        }
      }
    }
    if (direction === 'response') return found;
    const newlyRequired = (now.required ?? []).filter((name) => !was.required?.includes(name));
    return [...found, ...newlyRequired.map((name) => `${place(name)} is now required`)];
  }

  /** Compares array items and map values. */
  #elementChanges(direction: Direction, was: Schema, now: Schema, at: string): string[] {
    const [oldValue, newValue] = [mapValue(was), mapValue(now)];
    return [
      ...(was.items && now.items ? this.changes(direction, was.items, now.items, `${at}[]`) : []),
      ...(oldValue && newValue ? this.changes(direction, oldValue, newValue, `${at}.*`) : []),
      ...(direction === 'request' && was.type === 'object' && isOpen(was) && !isOpen(now)
        ? [`${at === '' ? 'the body' : at} no longer accepts additional fields`]
        : []),
    ];
  }
}

function resolve(components: Json, schema: Json): Schema {
  const name = (schema as Schema).$ref?.split('/').at(-1);
  return (name === undefined ? schema : (components[name] ?? {})) as Schema;
}

/** The format of an integer is advice for generators; its bounds decide what is accepted. */
function kindOf({ type, format, const: value }: Schema): string {
  const kind = type ?? (value === undefined ? 'anything' : typeof value);
  return format === undefined || kind === 'integer' ? kind : `${kind} (${format})`;
}

function valueChanges(direction: Direction, was: Schema, now: Schema, place: string): string[] {
  const [oldValues, newValues] = [was, now].map(({ enum: values, const: value }) =>
    value === undefined ? values : [value],
  );
  if (direction === 'response') {
    // The API reference says that enums may grow, so new values are not breaking.
    return was.const !== undefined && !newValues?.includes(was.const)
      ? [`${place} was always ${JSON.stringify(was.const)}`]
      : [];
  }
  if (!newValues) return [];
  if (!oldValues) return [`${place} now accepts only ${newValues.join(', ')}`];
  const removed = oldValues.filter((value) => !newValues.includes(value));
  return removed.length > 0 ? [`${place} no longer accepts ${removed.join(', ')}`] : [];
}

const UPPER = ['maxLength', 'maxItems', 'maximum', 'maxProperties'];
const LOWER = ['minLength', 'minItems', 'minimum', 'minProperties'];

function boundChanges(was: Json, now: Json, place: string): string[] {
  const tighter = [
    ...UPPER.filter((key) => Number(now[key] ?? Infinity) < Number(was[key] ?? Infinity)),
    ...LOWER.filter((key) => Number(now[key] ?? 0) > Number(was[key] ?? 0)),
    ...(now.pattern !== undefined && now.pattern !== was.pattern ? ['pattern'] : []),
  ];
  return tighter.map(
    (key) => `${place}: ${key} changed from ${was[key] ?? 'unset'} to ${now[key]}`,
  );
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

import { invalidFields } from '../../lib/refused-error.ts';
import type { AddressInput } from '../address-list.ts';
import { isObject, parseJsonObject } from '../json-object.ts';
import type { SizeBudget } from '../size-budget.ts';

/**
 * Mailgun's batch sending: `recipient-variables` holds values for each address, and `%recipient.name%`
 * in any text is replaced by the value of its recipient. Values are inserted as they are, also into
 * HTML. A placeholder without a value stays, as at Mailgun.
 */

export type RecipientVariables = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Mailgun's limit. */
export const BATCH_RECIPIENTS_MAX = 1000;

const POINTER = '/recipient-variables';

/** The values by address in lower case; undefined for a message that is not a batch. */
export function parseRecipientVariables(text: string | undefined): RecipientVariables | undefined {
  if (text === undefined) return undefined;
  const value = parseJsonObject(text, POINTER);
  const entries = Object.entries(value);
  if (!entries.every(([, values]) => isObject(values))) {
    const detail = 'Must be a JSON object with an object of values for each address.';
    throw invalidFields([{ pointer: POINTER, code: 'invalid_format', detail }]);
  }
  return new Map(
    entries.map(([address, values]) => [address.toLowerCase(), values as Record<string, unknown>]),
  );
}

export type Substitute = (text: string) => string;

const PLACEHOLDER = /%recipient(?:\.([\w-]+(?:\.[\w-]+)*)|_(email|name|fname|lname))?%/g;

/** Replaces the placeholders of one recipient. What is inserted is charged to the budget. */
export function substituteFor(
  recipient: AddressInput,
  variables: RecipientVariables,
  budget: Pick<SizeBudget, 'spend'>,
): Substitute {
  const values = variables.get(recipient.email.toLowerCase()) ?? {};
  const names = (recipient.name ?? '').trim().split(/\s+/);
  const own: Record<string, string> = {
    email: recipient.email,
    name: recipient.name ?? '',
    fname: names[0] ?? '',
    lname: names.length > 1 ? (names.at(-1) as string) : '',
  };
  const replace = (found: string, path: string | undefined, about: string | undefined): string => {
    const text = inserted(path, about) ?? found;
    budget.spend(text.length);
    return text;
  };
  const inserted = (path: string | undefined, about: string | undefined): string | undefined => {
    if (about !== undefined) return own[about];
    return path === undefined ? recipient.email : textAt(values, path);
  };
  return (text) => (text.includes('%recipient') ? text.replaceAll(PLACEHOLDER, replace) : text);
}

function textAt(values: Readonly<Record<string, unknown>>, path: string): string | undefined {
  let value: unknown = Object.hasOwn(values, path) ? values[path] : undefined;
  if (value === undefined) {
    value = values;
    for (const key of path.split('.')) {
      if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
      value = value[key];
    }
  }
  if (value === undefined || value === null) return undefined;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** For headers: a line break in a value must not end the field. */
export function onOneLine(substitute: Substitute): Substitute {
  return (text) => {
    const line = substitute(text);
    return /[\r\n]/.test(line) ? line.replaceAll(/[\r\n]+/g, ' ') : line;
  };
}

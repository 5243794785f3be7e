import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { type FieldError, RefusedError } from '../../base/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import { parseTime } from '../../messages/parse-options.ts';

/**
 * Checks shapes. The quick validator stops at the first fault and is what every request meets; only
 * a request that fails is looked at again for all of its faults, with formats that the rooms would
 * otherwise check later, so that the client learns everything at once.
 */

export interface Validator {
  /** Throws a RefusedError `validation_failed`. Query values are turned into their types in place. */
  check(value: unknown): void;
}

/** Finding all faults of a huge hostile body would cost more than it helps. */
const THOROUGH_NODES_MAX = 20_000;

const shared = { strict: false, validateFormats: true, discriminator: false } as const;
const quickBody = new Ajv2020({ ...shared, validateFormats: false });
const thoroughBody = new Ajv2020({ ...shared, allErrors: true, verbose: true });
const quickQuery = new Ajv2020({ ...shared, validateFormats: false, coerceTypes: true });
const thoroughQuery = new Ajv2020({ ...shared, allErrors: true, coerceTypes: true, verbose: true });
for (const ajv of [thoroughBody, thoroughQuery]) {
  ajv.addFormat('email', (text: string) => parseMailbox(text).ok);
  ajv.addFormat('date-time', (text: string) => parseTime(text) !== undefined);
  ajv.addFormat('uri', true);
}

export function bodyValidator(schema: TSchema): Validator {
  return validatorOf(schema, quickBody, thoroughBody, 'body');
}

/** A body in which nothing is required may be left out. */
export function isOptionalBody(schema: TSchema): boolean {
  const { required = [] } = schema as { required?: string[] };
  return required.length === 0 && quickBody.validate(schema, {}) === true;
}

export function queryValidator(schema: TSchema): Validator {
  const shape = validatorOf(schema, quickQuery, thoroughQuery, 'query');
  return {
    check(value) {
      shape.check(value);
      refuseNul(value as Record<string, unknown>);
    },
  };
}

/** No parameter means anything with a NUL in it, and PostgreSQL takes none in a text. */
function refuseNul(query: Record<string, unknown>): void {
  if (!hasAny(query)) return;
  const errors = Object.entries(query)
    .filter(([, value]) => [value].flat().some((one) => String(one).includes('\0')))
    .map(([parameter]) => ({ parameter, code: 'invalid_text', detail: 'Cannot hold NUL.' }));
  if (errors.length === 0) return;
  const [first] = errors as [FieldError];
  throw new RefusedError('validation_failed', `${first.parameter}: ${first.detail}`, { errors });
}

function hasAny(query: object): boolean {
  for (const _ in query) return true;
  return false;
}

/** Compiling takes milliseconds a schema, and there are hundreds: each waits for its first use. */
function validatorOf(
  schema: TSchema,
  quickly: Ajv2020,
  thoroughly: Ajv2020,
  part: 'body' | 'query',
): Validator {
  let quick: ValidateFunction | undefined;
  return {
    check(value) {
      quick ??= quickly.compile(schema);
      if (quick(value)) return;
      const thorough = thoroughly.compile(schema);
      let faults = quick.errors ?? [];
      if (nodesOf(value, THOROUGH_NODES_MAX) < THOROUGH_NODES_MAX && !thorough(value)) {
        faults = thorough.errors ?? faults;
      }
      const errors = fieldErrors(faults, part);
      const detail =
        errors.length === 1
          ? `${errors[0]?.pointer ?? errors[0]?.parameter}: ${errors[0]?.detail}`
          : `${errors.length} fields are not valid.`;
      throw new RefusedError('validation_failed', detail, { errors });
    },
  };
}

function nodesOf(value: unknown, max: number): number {
  const stack = [value];
  let count = 0;
  while (stack.length > 0 && count < max) {
    const top = stack.pop();
    count += 1;
    if (top !== null && typeof top === 'object') {
      for (const inner of Object.values(top)) stack.push(inner);
    }
  }
  return count;
}

function fieldErrors(faults: ErrorObject[], part: 'body' | 'query'): FieldError[] {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const fault of faults) {
    // The branches of an anyOf say one after the other what each would have wanted: noise, when
    // the fault of the whole is told as well.
    if (fault.keyword === 'if' || fault.schemaPath.includes('/anyOf/')) {
      if (
        faults.some(
          (other) => other.keyword === 'anyOf' && fault.instancePath === other.instancePath,
        )
      ) {
        continue;
      }
    }
    const error = fieldError(fault, part);
    const name = `${error.pointer ?? error.parameter} ${error.code}`;
    if (seen.has(name)) continue;
    seen.add(name);
    errors.push(error);
  }
  return errors;
}

function fieldError(fault: ErrorObject, part: 'body' | 'query'): FieldError {
  const params = fault.params as Record<string, unknown>;
  const inner = params.additionalProperty ?? params.missingProperty;
  const pointer =
    inner === undefined
      ? fault.instancePath
      : `${fault.instancePath}/${String(inner).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const { code, detail } = wording(fault, params);
  if (part === 'body') return { pointer, code, detail };
  const parameter = pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  return { parameter, code, detail };
}

function wording(
  fault: ErrorObject,
  params: Record<string, unknown>,
): { code: string; detail: string } {
  switch (fault.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { code: 'unknown_field', detail: 'This field is not known here.' };
    case 'required':
      return { code: 'required', detail: 'This field is required.' };
    case 'type':
      return {
        code: 'invalid_type',
        detail: `Must be of type ${String(params.type).replaceAll(',', ' or ')}.`,
      };
    case 'enum':
      return {
        code: 'invalid_value',
        detail: `Must be one of ${(params.allowedValues as unknown[]).join(', ')}.`,
      };
    case 'const':
      return { code: 'invalid_value', detail: `Must be ${JSON.stringify(params.allowedValue)}.` };
    case 'format':
      return formatWording(String(params.format), fault.data);
    case 'maxLength':
      return { code: 'too_long', detail: `Takes at most ${params.limit} characters.` };
    case 'minLength':
      return {
        code: 'too_short',
        detail: `Needs at least ${params.limit} character${params.limit === 1 ? '' : 's'}.`,
      };
    case 'maxItems':
    case 'maxProperties':
      return { code: 'too_many', detail: `Takes at most ${params.limit}.` };
    case 'minItems':
    case 'minProperties':
      return { code: 'too_few', detail: `Needs at least ${params.limit}.` };
    case 'minimum':
    case 'maximum':
      return { code: 'out_of_range', detail: `Must be ${params.comparison} ${params.limit}.` };
    case 'pattern':
      return { code: 'invalid_format', detail: `Must match ${params.pattern}.` };
    case 'anyOf':
      return { code: 'invalid_value', detail: 'Fits none of the forms that are taken here.' };
    default:
      return { code: 'invalid_value', detail: `Is not valid: ${fault.message ?? fault.keyword}.` };
  }
}

function formatWording(format: string, given: unknown): { code: string; detail: string } {
  if (format === 'email' && typeof given === 'string') {
    const parsed = parseMailbox(given);
    return { code: 'invalid_email', detail: parsed.ok ? '' : parsed.detail };
  }
  if (format === 'date-time') {
    return { code: 'invalid_time', detail: 'Give a time in RFC 3339 form with an offset.' };
  }
  return { code: 'invalid_format', detail: `Must be a valid ${format}.` };
}

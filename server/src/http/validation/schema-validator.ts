import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { Caller } from '../../accounts/caller.ts';
import { didYouMean } from '../../lib/did-you-mean.ts';
import {
  type FieldError,
  fieldErrorsOf,
  invalidFields,
  type RefusedError,
} from '../../lib/refused-error.ts';
import { parseTime } from '../../lib/time/rfc3339.ts';
import { parseMailbox } from '../../mail/address.ts';
import { NOT_BLANK } from '../openapi/shared-schemas.ts';
import { describeEnumError, encodingHint } from './query-parameters.ts';
import { asSent, isUndecodable } from './query-string.ts';

/**
 * Validates bodies and queries against their schemas. Every request first meets a quick
 * validator that stops at the first error. Only if that fails does a second, thorough pass
 * collect all errors, so that the client sees them at once. Formats in a body are checked in the
 * thorough pass only; handlers parse them anyway.
 */

export interface Validator {
  /**
   * Throws a RefusedError `validation_failed`. Converts query values to their types in place.
   * `known` are errors that were found before; they are reported together with the others.
   */
  check(value: unknown, caller?: Caller, known?: readonly FieldError[]): void;
}

/**
 * Finds errors beyond the schema. The fields that failed the schema, `invalid`, have been
 * removed from the body. The caller is present for operations on a workspace.
 */
export type SemanticChecks = (
  body: Record<string, unknown>,
  invalid: ReadonlySet<string>,
  caller: Caller,
) => readonly FieldError[];

/**
 * Parses some parameters and may throw. The parameters that failed the schema, `invalid`, have
 * been removed.
 */
export type QueryParser = (query: Record<string, unknown>, invalid: ReadonlySet<string>) => unknown;

/** Collecting all errors of a huge hostile body would cost more than it helps. */
const THOROUGH_NODES_MAX = 20_000;

const PART_NOUNS = { body: 'field', query: 'parameter' } as const;

const sharedOptions = { strict: false, validateFormats: true, discriminator: false } as const;
const quickBody = new Ajv2020({ ...sharedOptions, validateFormats: false });
const thoroughBody = new Ajv2020({ ...sharedOptions, allErrors: true, verbose: true });
const quickQuery = new Ajv2020(sharedOptions);
const thoroughQuery = new Ajv2020({ ...sharedOptions, allErrors: true, verbose: true });
for (const ajv of [quickBody, thoroughBody]) {
  ajv.addKeyword({ keyword: NOT_BLANK, type: 'string', validate: isNotBlank, errors: false });
}
for (const ajv of [thoroughBody, quickQuery, thoroughQuery]) {
  ajv.addFormat('email', (text: string) => parseMailbox(text).ok);
  ajv.addFormat('date-time', (text: string) => parseTime(text) !== undefined);
  ajv.addFormat('uri', true);
}

export function bodyValidator(schema: TSchema, semanticChecks?: SemanticChecks): Validator {
  const check = createCheck(schema, quickBody, thoroughBody, 'body', semanticChecks);
  return {
    check(value, caller, known) {
      const error = check(value, { nodesLeft: THOROUGH_NODES_MAX }, caller, known);
      if (error) throw error;
    },
  };
}

/** Validates each item of a list on its own and returns its error or undefined. */
export function listValidator(
  schema: TSchema,
  semanticChecks?: SemanticChecks,
): (values: readonly unknown[]) => (RefusedError | undefined)[] {
  const check = createCheck(schema, quickBody, thoroughBody, 'body', semanticChecks);
  return (values) => {
    const budget = { nodesLeft: THOROUGH_NODES_MAX };
    return values.map((value) => check(value, budget));
  };
}

/** A body without required fields may be omitted. */
export function isOptionalBody(schema: TSchema): boolean {
  const { required = [] } = schema as { required?: string[] };
  return required.length === 0 && quickBody.validate(schema, {}) === true;
}

export function queryValidator(schema: TSchema, parsers: readonly QueryParser[] = []): Validator {
  const check = createCheck(schema, quickQuery, thoroughQuery, 'query');
  const typed = typedParameters(schema);
  return {
    check(value) {
      for (const [name, type] of typed)
        convertInPlace(type, value as Record<string, unknown>, name);
      const error = check(value, { nodesLeft: THOROUGH_NODES_MAX });
      const query = value as Record<string, unknown>;
      if (!error && !hasAny(query)) return;
      const ofText = textErrors(query);
      const errors = [
        ...(error?.errors ?? []).filter((one) =>
          ofText.every(({ parameter }) => parameter !== one.parameter),
        ),
        ...ofText,
      ];
      const invalid = new Set(errors.map(({ parameter = '' }) => parameter));
      const valid = Object.fromEntries(
        Object.entries(query).filter(([name]) => !invalid.has(name)),
      );
      for (const parse of parsers) errors.push(...fieldErrorsOf(() => parse(valid, invalid)));
      if (errors.length > 0) throw invalidFields(errors);
    },
  };
}

function isNotBlank(isRequired: boolean, text: string): boolean {
  return !isRequired || text.trim() !== '';
}

function typedParameters(schema: TSchema): [name: string, type: unknown][] {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> };
  return Object.entries(properties)
    .map(([name, { type }]): [string, unknown] => [name, type])
    .filter(([, type]) => type === 'integer' || type === 'boolean');
}

/** Strict, unlike Ajv, which also accepts `0x10`, `1e1` and surrounding blanks as numbers. */
function convertInPlace(type: unknown, query: Record<string, unknown>, name: string): void {
  const text = query[name];
  if (typeof text !== 'string') return;
  if (type === 'integer' && /^-?[0-9]+$/.test(text)) query[name] = Number(text);
  else if (type === 'boolean' && /^(true|false)$/.test(text)) query[name] = text === 'true';
}

/** No parameter can contain NUL, which PostgreSQL does not accept in text. */
function textErrors(query: Record<string, unknown>): FieldError[] {
  return Object.entries(query).flatMap(([name, value]) => {
    const texts = [name, value].flat().map(String);
    const detail = texts.some(isUndecodable)
      ? 'Must be UTF-8, with its bytes encoded as %XX.'
      : texts.some((text) => text.includes('\0')) && 'Must not contain NUL.';
    return detail ? [{ parameter: asSent(name), code: 'invalid_text', detail }] : [];
  });
}

function hasAny(query: object): boolean {
  for (const _ in query) return true;
  return false;
}

type Check = (
  value: unknown,
  budget: { nodesLeft: number },
  caller?: Caller,
  known?: readonly FieldError[],
) => RefusedError | undefined;

const NO_ERRORS: readonly FieldError[] = [];

/**
 * Compiling takes milliseconds per schema, and there are hundreds, so each is compiled on first
 * use.
 */
function createCheck(
  schema: TSchema,
  quickAjv: Ajv2020,
  thoroughAjv: Ajv2020,
  part: 'body' | 'query',
  semanticChecks?: SemanticChecks,
): Check {
  let quick: ValidateFunction | undefined;
  return (value, budget, caller, known = NO_ERRORS) => {
    quick ??= quickAjv.compile(schema);
    if (quick(value) && known.length === 0) return undefined;
    const thorough = thoroughAjv.compile(schema);
    let violations = quick.errors ?? [];
    budget.nodesLeft -= countNodes(value, budget.nodesLeft);
    const affordable = budget.nodesLeft > 0;
    if (affordable && !thorough(value)) violations = thorough.errors ?? violations;
    const found = fieldErrors(violations, part);
    const errors = [
      ...known,
      ...found.filter((error) => known.every(({ pointer }) => pointer !== error.pointer)),
    ];
    if (affordable && semanticChecks) {
      errors.push(...semanticErrors(value, errors, caller, semanticChecks));
    }
    return invalidFields(errors);
  };
}

function semanticErrors(
  body: unknown,
  errors: readonly FieldError[],
  caller: Caller | undefined,
  semanticChecks: SemanticChecks,
): readonly FieldError[] {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return [];
  const invalid = new Set(errors.map(({ pointer = '' }) => pointer.split('/')[1] ?? ''));
  const valid = Object.entries(body).filter(([name]) => !invalid.has(escapePointer(name)));
  return semanticChecks(Object.fromEntries(valid), invalid, caller as Caller);
}

function countNodes(value: unknown, max: number): number {
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

function fieldErrors(violations: ErrorObject[], part: 'body' | 'query'): FieldError[] {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  const unions = failedUnions(violations);
  for (const violation of violations) {
    // It follows the violation that says what is wrong with the name.
    if (violation.keyword === 'propertyNames') continue;
    if (unions.some((union) => isIrrelevant(violation, union))) continue;
    const error = typeError(violation, unions, part) ?? fieldError(violation, part);
    if (error.code === 'unknown_field' && errors.length < SUGGESTIONS_MAX) {
      error.detail += suggestion(violation, part);
    }
    const name = `${error.pointer ?? error.parameter} ${error.code}`;
    if (seen.has(name)) continue;
    seen.add(name);
    errors.push(error);
  }
  // A text that is too short mostly does not match the pattern either, which adds nothing.
  return errors.filter(
    ({ code, pointer, parameter }) =>
      code !== 'invalid_format' || !seen.has(`${pointer ?? parameter} too_short`),
  );
}

/** A body with more unknown fields than this is not just misspelled. */
const SUGGESTIONS_MAX = 20;

function suggestion(violation: ErrorObject, part: 'body' | 'query'): string {
  const { additionalProperty, unevaluatedProperty } = violation.params as Record<string, unknown>;
  const given = String(additionalProperty ?? unevaluatedProperty);
  const known = knownNames(violation);
  const meant = didYouMean(given, known);
  if (meant !== undefined) return ` Did you mean ${meant}?`;
  return part === 'query' && known.length > 0 ? ` Valid parameters are ${known.join(', ')}.` : '';
}

function knownNames({ parentSchema }: ErrorObject): string[] {
  const { properties = {} } = (parentSchema ?? {}) as { properties?: object };
  return Object.keys(properties);
}

/** Few readers can tell from a pattern what it accepts. */
function exampleOf({ parentSchema }: ErrorObject): string {
  const { examples = [] } = (parentSchema ?? {}) as { examples?: unknown[] };
  return examples.length > 0 ? `, such as ${String(examples[0])}` : '';
}

/** A failed anyOf, and the branch that the value was most likely meant for. */
interface FailedUnion {
  violation: ErrorObject;
  intendedBranch: string | undefined;
  /** The types that its branches accept, if the value has none of them. */
  acceptedTypes: string[];
}

function typeError(
  violation: ErrorObject,
  unions: readonly FailedUnion[],
  part: 'body' | 'query',
): FieldError | undefined {
  const types = unions.find((union) => union.violation === violation)?.acceptedTypes ?? [];
  if (types.length === 0) return undefined;
  const isText = typeof violation.data === 'string';
  const detail =
    isText && acceptsAddress(violation)
      ? `${ADDRESS_FORM}, or a list of them.`
      : `Must be of type ${types.join(' or ')}.`;
  return { ...fieldError(violation, part), code: 'invalid_type', detail };
}

/**
 * Each union is compared with all violations. A body with more of them is hostile and gets an
 * unfiltered list.
 */
const UNIONS_MAX = 50;

function failedUnions(violations: readonly ErrorObject[]): FailedUnion[] {
  return violations
    .filter(({ keyword }) => keyword === 'anyOf')
    .slice(0, UNIONS_MAX)
    .map((union) => ({
      violation: union,
      intendedBranch: intendedBranchOf(union, violations),
      acceptedTypes: acceptedTypesOf(union, violations),
    }));
}

function acceptedTypesOf(union: ErrorObject, violations: readonly ErrorObject[]): string[] {
  const branches = violations.filter((violation) => branchOf(violation, union) !== undefined);
  if (branches.some(({ keyword }) => keyword !== 'type')) return [];
  const types = branches.flatMap(({ params }) => String((params as { type: unknown }).type));
  return [...new Set(types)];
}

function intendedBranchOf(
  union: ErrorObject,
  violations: readonly ErrorObject[],
): string | undefined {
  const branches = new Set<string>();
  const ofOtherType = new Set<string>();
  for (const violation of violations) {
    const branch = branchOf(violation, union);
    if (branch === undefined) continue;
    branches.add(branch);
    const { keyword, instancePath } = violation;
    if (instancePath !== union.instancePath) continue;
    if (keyword === 'type' || keyword === 'const') ofOtherType.add(branch);
  }
  const left = [...branches].filter((branch) => !ofOtherType.has(branch));
  return left.length === 1 ? left[0] : undefined;
}

function branchOf(violation: ErrorObject, { schemaPath, instancePath }: ErrorObject) {
  if (!violation.schemaPath.startsWith(`${schemaPath}/`)) return undefined;
  if (!`${violation.instancePath}/`.startsWith(`${instancePath}/`)) return undefined;
  return violation.schemaPath.slice(schemaPath.length + 1).split('/')[0];
}

/**
 * Every branch of a failed anyOf reports its own violations. Only those of the intended branch
 * are relevant; if there is none, only the violation of the anyOf itself is.
 */
function isIrrelevant(violation: ErrorObject, union: FailedUnion): boolean {
  if (violation === union.violation) return union.intendedBranch !== undefined;
  const branch = branchOf(violation, union.violation);
  return branch !== undefined && branch !== union.intendedBranch;
}

function fieldError(violation: ErrorObject, part: 'body' | 'query'): FieldError {
  const params = violation.params as Record<string, unknown>;
  const inner = violation.propertyName ?? params.additionalProperty ?? params.missingProperty;
  const pointer =
    inner === undefined
      ? violation.instancePath
      : `${violation.instancePath}/${escapePointer(String(inner))}`;
  const { code, detail } = describeViolation(violation, params, part);
  if (part === 'body') return { pointer, code, detail };
  const parameter = pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  return { parameter: asSent(parameter), code, detail };
}

/** RFC 6901, section 4. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function count(number: unknown, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function describeViolation(
  violation: ErrorObject,
  params: Record<string, unknown>,
  part: 'body' | 'query',
): { code: string; detail: string } {
  if (violation.propertyName !== undefined) return describeNameError(violation);
  switch (violation.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { code: 'unknown_field', detail: `Unknown ${PART_NOUNS[part]}.` };
    case 'required':
      return { code: 'required', detail: `This ${PART_NOUNS[part]} is required.` };
    case 'type':
      return {
        code: 'invalid_type',
        detail: describeTypeError(violation, String(params.type), part),
      };
    case 'enum':
      return {
        code: 'invalid_value',
        detail: describeEnumError(violation.data, params.allowedValues as unknown[]),
      };
    case 'const':
      return { code: 'invalid_value', detail: `Must be ${JSON.stringify(params.allowedValue)}.` };
    case 'format':
      return describeFormatError(String(params.format), violation.data, part);
    case 'maxLength':
      return { code: 'too_long', detail: `Must be at most ${count(params.limit, 'character')}.` };
    case 'minLength':
      return {
        code: 'too_short',
        detail: `Must be at least ${count(params.limit, 'character')}.`,
      };
    case 'maxItems':
    case 'maxProperties':
      return { code: 'too_many', detail: `Must have at most ${count(params.limit, 'item')}.` };
    case 'minItems':
      return { code: 'too_few', detail: `Must have at least ${count(params.limit, 'item')}.` };
    case 'minProperties':
      return {
        code: 'too_few',
        detail: `Must have at least ${params.limit} of the fields ${knownNames(violation).join(', ')}.`,
      };
    case 'minimum':
    case 'maximum':
      return {
        code: 'out_of_range',
        detail: `Must be at ${violation.keyword === 'minimum' ? 'least' : 'most'} ${params.limit}.`,
      };
    case 'pattern':
      return {
        code: 'invalid_format',
        detail: describePatternError(String(params.pattern), exampleOf(violation)),
      };
    case NOT_BLANK:
      return { code: 'invalid_format', detail: 'Must not be blank.' };
    case 'not':
      return { code: 'invalid_value', detail: 'This value is reserved.' };
    case 'anyOf':
      return { code: 'invalid_value', detail: 'Does not match any of the accepted formats.' };
    default:
      return {
        code: 'invalid_value',
        detail: `Invalid: ${violation.message ?? violation.keyword}.`,
      };
  }
}

/** For the name of a field in a map, whose schema limits its length. */
function describeNameError({ parentSchema }: ErrorObject): { code: string; detail: string } {
  const { minLength, maxLength } = (parentSchema ?? {}) as Record<string, unknown>;
  return {
    code: 'invalid_name',
    detail: `A name must have ${minLength} to ${maxLength} characters.`,
  };
}

/** Patterns that exclude control characters are hard to read. */
function describePatternError(pattern: string, example: string): string {
  if (!pattern.includes('\\x00-')) return `Must match ${pattern}${example}.`;
  const isTrimmed = pattern.startsWith('^[^\\x00-\\x20');
  const ends = isTrimmed ? ', or begin or end with a space' : '';
  const blank = pattern.startsWith('^ *[^\\x00-\\x20') ? 'be blank or ' : '';
  return `Must not ${blank}contain control characters${ends}.`;
}

/** Other APIs accept an address as a string, which is what newcomers send first. */
const ADDRESS_FORM = 'Must be an address object: {"email": "jane@example.com", "name": "Jane"}';

function isAddress(schema: unknown): boolean {
  const { properties } = (schema ?? {}) as { properties?: object };
  return properties !== undefined && 'email' in properties;
}

function acceptsAddress({ schema }: ErrorObject): boolean {
  return Array.isArray(schema) && schema.some(isAddress);
}

function describeTypeError(
  { parentSchema, data }: ErrorObject,
  type: string,
  part: 'body' | 'query',
): string {
  // The only lists in a query are parameters that appear more than once.
  if (part === 'query' && Array.isArray(data)) return 'Must be given only once.';
  if (isAddress(parentSchema) && (typeof data === 'string' || Array.isArray(data))) {
    return `${ADDRESS_FORM}.`;
  }
  return `Must be of type ${type.replaceAll(',', ' or ')}.`;
}

function describeFormatError(
  format: string,
  given: unknown,
  part: 'body' | 'query',
): { code: string; detail: string } {
  const hint = part === 'query' ? encodingHint(given) : '';
  if (format === 'email' && typeof given === 'string') {
    const parsed = parseMailbox(given);
    return { code: 'invalid_email', detail: parsed.ok ? '' : parsed.detail + hint };
  }
  if (format === 'date-time') {
    const detail = 'Must be an RFC 3339 time with an offset, such as 2026-11-15T09:00:00Z.';
    return { code: 'invalid_time', detail: detail + hint };
  }
  return { code: 'invalid_format', detail: `Must be a valid ${format}.` };
}

import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import { type CallOperation, surfaceCaller } from '../../http/server/call-operation.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { type CompatDependencies, type CompatProvider, prefixOf } from '../compat-provider.ts';
import { problemMessage } from '../problem-message.ts';
import { readStats } from '../statistics.ts';
import { unsupported } from './email-schemas.ts';
import { REQUEST_ID_HEADER, version1ErrorOf } from './errors.ts';
import { readQueryForm, writeError, writeResult, XML } from './query-protocol.ts';
import {
  ACTIONS,
  type Action,
  type CallVersion2,
  type Fields,
  type StatsSource,
} from './version-1-actions.ts';

/**
 * Version 1 of the SES API (https://docs.aws.amazon.com/ses/latest/APIReference), whose actions are all
 * sent to one path as forms, and answered with XML. Each action is translated to operations of
 * version 2, which check scopes and content.
 */

const UNSUPPORTED: Readonly<Record<string, string>> = {
  ReturnPathArn: 'Bounces and complaints are events; receive them by webhook.',
  SourceArn: 'Use an API key of the workspace that owns the sender domain.',
  FromArn: 'Use an API key of the workspace that owns the sender domain.',
  TemplateArn: 'Name the template in Template.',
};

type Version1Dependencies = Pick<CompatDependencies, 'baseUrl' | 'call' | 'clock'>;

/** One operation at two paths, because some SDKs add a slash to the endpoint and others do not. */
export function version1Operations(
  deps: Version1Dependencies,
  version2: readonly Operation[],
): Operation[] {
  const call = surfaceCaller(version2);
  return [
    version1Operation(deps, call, { id: 'sesVersion1', path: '/' }),
    version1Operation(deps, call, { id: 'sesVersion1WithoutSlash', path: '' }),
  ];
}

function version1Operation(
  deps: Version1Dependencies,
  call: CallOperation,
  place: { id: string; path: string },
): Operation {
  return operation(
    {
      ...place,
      method: 'POST',
      tag: 'Service',
      summary: 'Call version 1 of the API',
      description: `Forms with an \`Action\`, answered with XML: ${Object.keys(ACTIONS).join(', ')}. Each requires the scope of its counterpart in version 2.`,
      scope: 'any',
      acceptsForms: true,
      body: Type.Object({ Action: Type.String() }),
      responses: { 200: { description: 'The result.', mediaType: 'text/xml' } },
      handlesIdempotency: true,
    },
    async (request) => {
      const { Action: name, Version: _version, ...fields } = readQueryForm(request.body);
      const { requestId, idempotency } = request;
      const action = Object.hasOwn(ACTIONS, String(name)) ? ACTIONS[String(name)] : undefined;
      if (!action) {
        const message = `Postrider does not offer the action ${name} of version 1. ${deps.baseUrl}/docs/moving lists those that it offers.`;
        const body = writeError({ code: 'InvalidAction', message, isOurs: false }, requestId);
        return { status: 400, mediaType: XML, body };
      }
      checkFields(fields, action);
      const callVersion2: CallVersion2 = async (id, input = {}) =>
        (await call(request, id, { ...input, idempotency })).body;
      const source: StatsSource = {
        nowMs: deps.clock.now(),
        read: (wanted) => readStats(deps, request, { ...wanted, begin: 'Action' }),
      };
      const result = await action.run(fields, callVersion2, source).catch(renamed);
      return { status: 200, mediaType: XML, body: writeResult(String(name), result, requestId) };
    },
  );
}

/** Its only path has no name. */
export function isVersion1(url: string, provider: Pick<CompatProvider, 'name'>): boolean {
  const [path] = url.split('?', 1);
  return path === prefixOf(provider) || path === `${prefixOf(provider)}/`;
}

export function renderVersion1Problem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { type: code, status } = version1ErrorOf(problem.code);
  const error = { code, message: problemMessage(problem), isOurs: status >= 500 };
  return {
    status,
    headers: { ...headers, [REQUEST_ID_HEADER]: problem.request_id },
    mediaType: XML,
    body: writeError(error, problem.request_id),
  };
}

function checkFields(fields: Fields, { fields: known, required = [] }: Action): void {
  const unknown = Object.keys(fields)
    .filter((name) => !known.includes(name))
    .map((name): FieldError => {
      const reason = UNSUPPORTED[name];
      if (reason !== undefined) {
        return unsupported(`/${name}`, `${name} is not supported. ${reason}`);
      }
      const detail = `${name} is not a parameter of this action.`;
      return { pointer: `/${name}`, code: 'unknown_field', detail };
    });
  const missing = required
    .filter((name) => fields[name] === undefined)
    .map((name) => ({ pointer: `/${name}`, code: 'required', detail: `${name} is required.` }));
  const errors = [...unknown, ...missing];
  if (errors.length > 0) throw invalidFields(errors);
}

/** Errors of version 2 name its fields. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^\/FromEmailAddress/, '/Source'],
  [/^\/EmailTags/, '/Tags'],
  [/^\/DefaultEmailTags/, '/DefaultTags'],
  [/^\/BulkEmailEntries/, '/Destinations'],
  [/^\/Content\/Simple/, '/Message'],
  [/^\/Content\/Raw/, '/RawMessage'],
  [/^\/Content\/Template\/TemplateName/, '/Template'],
  [/^\/Content\/Template\/TemplateData/, '/TemplateData'],
  [/^\/DefaultContent\/Template\/TemplateData/, '/DefaultTemplateData'],
  [/^\/DefaultContent\/Template\/TemplateName/, '/Template'],
];

function renamed(error: unknown): never {
  if (!(error instanceof RefusedError) || error.errors.length === 0) throw error;
  const errors = error.errors.map((field): FieldError => {
    const found = NAMES.find(([pattern]) => pattern.test(field.pointer ?? ''));
    return found ? { ...field, pointer: (field.pointer ?? '').replace(...found) } : field;
  });
  if (error.code === 'validation_failed') throw invalidFields(errors);
  throw new RefusedError(error.code, error.message, { errors });
}

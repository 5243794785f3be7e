import { RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import { createRedactor, REDACTED } from '../../templates/content/redact.ts';
import { RenderBudget, type SharedWork } from '../../templates/template-engine.ts';
import type { ResolvedTemplate, VariableValues } from '../../templates/template-resolver.ts';
import type { RenderedFields } from './rendered-content.ts';

/** Knows which values are secret. */
export type SecretSource = Pick<ResolvedTemplate, 'secretsIn' | 'withoutSecrets'>;

/** For inline content, secrets are listed by name: see SendRequest. */
export function secretsByName(names: readonly string[]): SecretSource {
  return {
    secretsIn: (values) => names.map((name) => values[name]),
    withoutSecrets: (values) => ({
      ...values,
      ...Object.fromEntries(names.map((name) => [name, REDACTED])),
    }),
  };
}

type Render = (values: VariableValues, budget: RenderBudget) => RenderedFields;

/**
 * The content of a message as anyone but its recipient may see it. It is rendered again with every
 * secret replaced, so that no part of one survives whatever filters did with it. Remaining
 * occurrences, such as a secret repeated in another value, are then replaced in the text.
 */
export function redactContent(
  source: SecretSource,
  values: VariableValues,
  fields: RenderedFields,
  render: Render,
  sharedWork: SharedWork | undefined,
): RenderedFields {
  const secrets = source.secretsIn(values);
  if (secrets.length === 0) return fields;
  const masked =
    tryRender(source.withoutSecrets(values, 'plain'), render, sharedWork) ??
    // A text cannot replace a number or a date.
    tryRender(source.withoutSecrets(values, 'typed'), render, sharedWork);
  if (!masked) return mapFields(fields, () => REDACTED);
  return mapFields(masked, createRedactor(secrets).text);
}

function tryRender(
  values: VariableValues,
  render: Render,
  sharedWork: SharedWork | undefined,
): RenderedFields | undefined {
  const budget = new RenderBudget({}, sharedWork);
  try {
    const fields = render(values, budget);
    return budget.missing.length === 0 ? fields : undefined;
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

function mapFields(fields: RenderedFields, change: (text: string) => string): RenderedFields {
  const renamed = <T extends { name?: string }>(one: T): T =>
    one.name === undefined ? one : { ...one, name: change(one.name) };
  const { from, replyTo, headers, subject, html, text } = fields;
  return {
    from: renamed(from),
    replyTo: replyTo.map((one) => ({
      ...renamed(one),
      email: validAddressOrPlaceholder(change(one.email)),
    })),
    headers: headers.map(([name, value]) => [name, change(value)]),
    subject: change(subject),
    html: change(html),
    text: text === null ? null : change(text),
  };
}

/** A redacted address must still be a valid address, because it is composed like the original. */
function validAddressOrPlaceholder(email: string): string {
  return parseMailbox(email).ok ? email : 'redacted@redacted.invalid';
}

import { RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import { createRedactor, REDACTED } from '../../templates/redact.ts';
import { RenderBudget } from '../../templates/template-engine.ts';
import type { ResolvedTemplate, VariableValues } from '../../templates/template-resolver.ts';
import type { RenderedFields } from './render-content.ts';

/** Whoever knows which of the values are secret. */
export type SecretSource = Pick<ResolvedTemplate, 'secretsIn' | 'withoutSecrets'>;

/** Inline content knows by name: see SendRequest. */
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
 * The words of a message as anyone but its recipient may see them. They are rendered once more from
 * values in which every secret is replaced, so that no part of one is left whatever filters made of
 * it; then all that still looks like a secret, because another value held it too, is taken out.
 */
export function redactContent(
  source: SecretSource,
  values: VariableValues,
  fields: RenderedFields,
  render: Render,
): RenderedFields {
  const secrets = source.secretsIn(values);
  if (secrets.length === 0) return fields;
  const masked =
    tryRender(source.withoutSecrets(values, 'plain'), render) ??
    // A price or a date cannot be a word.
    tryRender(source.withoutSecrets(values, 'typed'), render);
  if (!masked) return mapFields(fields, () => REDACTED);
  return mapFields(masked, createRedactor(secrets).text);
}

function tryRender(values: VariableValues, render: Render): RenderedFields | undefined {
  const budget = new RenderBudget();
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

/** What is shown of an address is an address too: it is composed like the real one. */
function validAddressOrPlaceholder(email: string): string {
  return parseMailbox(email).ok ? email : 'redacted@redacted.invalid';
}

import { RefusedError } from '../base/refused-error.ts';
import { REDACTED, redactor } from '../templates/redact.ts';
import { RenderBudget } from '../templates/substitution.ts';
import type { ResolvedTemplate, Values } from '../templates/template-source.ts';
import type { Words } from './render-request.ts';

/** Whoever knows which of the values are secret. */
export type SecretKnower = Pick<ResolvedTemplate, 'secretsIn' | 'withoutSecrets'>;

/** Inline content knows by name: see SendRequest. */
export function secretsByName(names: readonly string[]): SecretKnower {
  return {
    secretsIn: (values) => names.map((name) => values[name]),
    withoutSecrets: (values) => ({
      ...values,
      ...Object.fromEntries(names.map((name) => [name, REDACTED])),
    }),
  };
}

/**
 * The words of a message as anyone but its recipient may see them. They are rendered once more from
 * values in which every secret is replaced, so that no part of one is left whatever filters made of
 * it; then all that still looks like a secret, because another value held it too, is taken out.
 */
export function withoutSecrets(
  template: SecretKnower,
  values: Values,
  words: Words,
  render: (values: Values, budget: RenderBudget) => Words,
): Words {
  const secrets = template.secretsIn(values);
  if (secrets.length === 0) return words;
  const { text } = redactor(secrets);
  const { from, replyTo, headers, subject, html, ...rest } =
    maskedWords(template, values, render) ?? words;
  const renamed = <T extends { name?: string }>(one: T): T =>
    one.name === undefined ? one : { ...one, name: text(one.name) };
  return {
    from: renamed(from),
    replyTo: replyTo.map(renamed),
    headers: headers.map(([name, value]) => [name, text(value)]),
    subject: text(subject),
    html: text(html),
    text: rest.text === null ? null : text(rest.text),
  };
}

/** Undefined when the template cannot take the mask, such as a price where it wants a number. */
function maskedWords(
  template: SecretKnower,
  values: Values,
  render: (values: Values, budget: RenderBudget) => Words,
): Words | undefined {
  const budget = new RenderBudget();
  try {
    const words = render(template.withoutSecrets(values), budget);
    return budget.missing.length === 0 ? words : undefined;
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

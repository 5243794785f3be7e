import {
  type MissingValue,
  type Place,
  parseContent,
  RenderBudget,
  type RenderLimits,
  type RenderOptions,
  type RenderWarning,
  renderContent,
  type Scope,
} from '../substitution.ts';

export interface Tried {
  text: string;
  missing: MissingValue[];
  warnings: RenderWarning[];
}

/** For tests: parses and renders one field as a send would. */
export function tryRender(
  source: string,
  place: Place,
  scope: Scope,
  options: Partial<RenderOptions> & { limits?: Partial<RenderLimits> } = {},
): Tried {
  const budget = new RenderBudget(options.limits);
  const field = place === 'header' ? 'subject' : place;
  const text = renderContent(parseContent(source, place, field), scope, { budget, ...options });
  return { text, missing: budget.missing, warnings: budget.warnings };
}

/** The text alone, when nothing may be missing. */
export function rendered(
  source: string,
  place: Place,
  scope: Scope,
  options: Partial<RenderOptions> = {},
): string {
  const { text, missing } = tryRender(source, place, scope, options);
  if (missing.length > 0) throw new Error(`missing: ${missing.map(({ path }) => path).join(', ')}`);
  return text;
}

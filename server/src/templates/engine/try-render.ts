import {
  type MissingValue,
  type OutputFormat,
  parseContent,
  RenderBudget,
  type RenderLimits,
  type RenderOptions,
  type RenderWarning,
  renderContent,
  type TemplateData,
} from '../template-engine.ts';

export interface TryRenderResult {
  text: string;
  missing: MissingValue[];
  warnings: RenderWarning[];
}

/** For tests: parses and renders one field like a send. */
export function tryRender(
  source: string,
  format: OutputFormat,
  data: TemplateData,
  options: Partial<RenderOptions> & { limits?: Partial<RenderLimits> } = {},
): TryRenderResult {
  const budget = new RenderBudget(options.limits);
  const field = format === 'header' ? 'subject' : format;
  const text = renderContent(parseContent(source, format, field), data, { budget, ...options });
  return { text, missing: budget.missing, warnings: budget.warnings };
}

/** Returns only the text, and throws if values are missing. */
export function renderComplete(
  source: string,
  format: OutputFormat,
  data: TemplateData,
  options: Partial<RenderOptions> = {},
): string {
  const { text, missing } = tryRender(source, format, data, options);
  if (missing.length > 0) throw new Error(`missing: ${missing.map(({ path }) => path).join(', ')}`);
  return text;
}

import type { TemplateVariable } from './content-api.ts';

type Values = Record<string, unknown>;

/** Values for a test send to start from: the examples, or a sample of the right type. */
export function exampleVariables(variables: readonly TemplateVariable[]): Values {
  const values: Values = {};
  const complete: string[] = [];
  // Parents come first: an example of theirs includes everything in it.
  for (const variable of variables.toSorted((a, b) => a.name.length - b.name.length)) {
    const { name } = variable;
    const example = variable.example ?? variable.default;
    if (complete.some((one) => name.startsWith(`${one}.`) || name.startsWith(`${one}[]`))) continue;
    if (example !== null) complete.push(name);
    assign(values, name.split('.'), example ?? sampleOf(variable));
  }
  return values;
}

/** Sets the value at a path; `lines[]` stands for the first item of a list. */
function assign(target: Values, [step = '', ...rest]: string[], value: unknown): void {
  const name = step.replace(/(\[\])+$/, '');
  const isItem = name !== step;
  const before = isItem ? (target[name] as unknown[] | undefined)?.[0] : target[name];
  let next = value;
  if (rest.length > 0) {
    next = typeof before === 'object' && before !== null ? before : {};
    assign(next as Values, rest, value);
  }
  target[name] = isItem ? [next] : next;
}

function sampleOf({ name, type }: TemplateVariable): unknown {
  switch (type) {
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'date':
      return '2026-01-31';
    case 'list':
      return [];
    case 'object':
      return {};
    default:
      return `[${name}]`;
  }
}

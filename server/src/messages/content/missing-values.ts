import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import {
  type MissingValue,
  RESERVED_ROOTS,
  type RenderBudget,
} from '../../templates/template-engine.ts';
import type { ResolvedTemplate } from '../../templates/template-resolver.ts';
import { pathFromPointer, pointerFromPath } from '../../templates/variables/variable-paths.ts';

const VARIABLES = '/template_variables';

/**
 * Rejects a send with missing values and reports all of them, each with its field, line and column.
 * For inline content the pointer names the field with the placeholder, for a template the variable.
 * `required` are variables that the template requires but that were not used in this rendering.
 */
export function refuseMissingValues(
  budget: RenderBudget,
  template: ResolvedTemplate | undefined,
  required: readonly FieldError[],
  recipientPointer: string,
): void {
  if (budget.missing.length === 0 && required.length === 0) return;
  const errors: FieldError[] = budget.missing.map((missing) => ({
    pointer: template
      ? valuePointer(missing, recipientPointer)
      : `/${missing.field.replaceAll('.', '/')}`,
    code: missing.code,
    detail: missing.path === 'unsubscribe_url' ? missing.detail + UNSUBSCRIBE_HINT : missing.detail,
    path: missing.path,
    field: missing.field,
    line: missing.line,
    column: missing.column,
  }));
  for (const error of required) {
    if (errors.some(({ pointer }) => pointer === error.pointer)) continue;
    errors.push({ ...error, path: pathFromPointer((error.pointer ?? '').slice(VARIABLES.length)) });
  }
  const paths = [...new Set(errors.map(({ path }) => path))];
  const detail = `Missing values: ${paths.join(', ')}.`;
  throw new RefusedError('missing_variables', detail, { errors });
}

const UNSUBSCRIBE_HINT =
  ' The service provides it in subscription streams only: name one in `stream`.';

/**
 * A missing contact field is an issue with the recipient's contact, so it points to the address.
 */
function valuePointer({ path }: MissingValue, recipientPointer: string): string {
  const pointer = pointerFromPath(path);
  return RESERVED_ROOTS.includes(pointer.split('/')[1] ?? '')
    ? recipientPointer
    : VARIABLES + pointer;
}

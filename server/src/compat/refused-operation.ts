import { Type } from 'typebox';
import { type Operation, type OperationSpec, operation } from '../http/operation.ts';
import { RefusedError } from '../lib/refused-error.ts';

/** An operation of another provider that Postrider has no equivalent for, so that its error can say why. */
export function refusedOperation(
  spec: Pick<OperationSpec<never, never, never>, 'id' | 'method' | 'path' | 'tag' | 'summary'>,
  code: 'not_found' | 'conflict',
  reason: string,
): Operation {
  return operation(
    {
      ...spec,
      description: `Always refused. ${reason}`,
      scope: 'any',
      // Parameters are not checked, because they are not the reason.
      query: Type.Object({}),
      responses: {},
    },
    () => {
      throw new RefusedError(code, reason);
    },
  );
}

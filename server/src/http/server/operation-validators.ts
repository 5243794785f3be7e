import type { Operation } from '../operation.ts';
import {
  bodyValidator,
  isOptionalBody,
  queryValidator,
  type Validator,
} from '../validation/schema-validator.ts';

export interface OperationValidators {
  query: Validator;
  body: Validator | undefined;
  /** Asked only for requests without a body. */
  bodyOptional: () => boolean;
}

const NO_QUERY = { type: 'object', additionalProperties: false, properties: {} };

export function validatorsOf({ spec }: Operation): OperationValidators {
  return {
    query: queryValidator(spec.query ?? NO_QUERY, spec.queryParsers),
    body: spec.body && bodyValidator(spec.validatedBody ?? spec.body, spec.semanticChecks),
    bodyOptional: () => spec.body !== undefined && isOptionalBody(spec.body),
  };
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TemplateVariable } from '../variables/infer-variables.ts';
import { variablesSchema } from '../variables/variables-schema.ts';
import { checkVariables } from './check-variables.ts';

/** Goal: the check agrees with the published schema. Method: comparison with a third-party validator. */

const VARIABLES: TemplateVariable[] = [
  { name: 'a', type: 'string', required: true, declared: true },
  { name: 'b', type: 'number', required: false, declared: true },
  { name: 'c.d', type: 'boolean', required: true, declared: true },
  { name: 'c', type: 'object', required: true, declared: false },
  { name: 'e', type: 'list', required: false, declared: false },
  { name: 'e[].f', type: 'date', required: true, declared: false },
  { name: 'g', type: 'string', required: false, declared: false },
];

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, 0, 1.5, '', 'x', '12.50', '1e5'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'constructor'), tie('any')),
  ),
})).any;

it('agrees with a third-party validator on every value', () => {
  const schema = variablesSchema(VARIABLES);
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, ownProperties: true });
  const judge = ajv.compile(schema);
  const values = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'e', 'g', 'x'), value);
  fc.assert(
    fc.property(values, (given) => {
      const theirs = judge(given)
        ? []
        : (judge.errors ?? []).map(({ instancePath, params }) =>
            'missingProperty' in params
              ? `${instancePath}/${params.missingProperty}`
              : instancePath,
          );
      const ours = checkVariables(schema, given).map(({ pointer }) => pointer);
      expect([...new Set(ours)].sort()).toEqual([...new Set(theirs)].sort());
    }),
    { numRuns: 500 },
  );
});

it('reports null as missing only where a value is required', () => {
  const schema = variablesSchema(VARIABLES);
  const found = checkVariables(schema, { a: null, b: null, c: { d: true }, g: null });
  expect(found).toEqual([
    { pointer: '/a', code: 'missing_variable', detail: 'This variable is required.' },
  ]);
});

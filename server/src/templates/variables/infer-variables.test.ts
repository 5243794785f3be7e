import { describe, expect, it } from 'vitest';
import { checkVariables } from '../checks/check-variables.ts';
import { tryRender } from '../engine/try-render.ts';
import { type Partials, parseContent } from '../template-engine.ts';
import { inferVariables, mergeVariables } from './infer-variables.ts';
import { sampleValues, variablesSchema } from './variables-schema.ts';

/**
 * Goal: variables are inferred from placeholders, and the schema built from them accepts values that
 * render and points at those that do not. Method: small templates, exact expectations.
 */

describe('inferred variables', () => {
  it.each([
    ['${name}', ['name: string!']],
    ['{{ order.id }}', ['order.id: string!', 'order: object!']],
    ['{{ total | money: "EUR" }}', ['total: number!']],
    [
      '{{ total | money: order.currency }}',
      ['total: number!', 'order.currency: string!', 'order: object!'],
    ],
    ['{{ n | times: q | round }}', ['n: number!', 'q: number!']],
    ['{{ when | date: "long" }}', ['when: date!']],
    ['{% if vip %}x{% endif %}', ['vip: boolean']],
    ['{% if n > 3 %}x{% endif %}', ['n: number']],
    ['{% if plan == "pro" %}x{% endif %}', ['plan: string']],
    ['{% if name %}{{ name }}{% endif %}', ['name: string']],
    ['{% if paid %}{{ receipt }}{% endif %}', ['paid: boolean', 'receipt: string']],
    ['{{ name | default: "you" }}', ['name: string']],
    ['{{ n | default: 3 }}', ['n: number']],
    ['{{ a | default: b }}', ['a: string', 'b: string']],
    [
      '{% for l in lines %}{{ l.name }}{{ l.price | money: "EUR" }}{% endfor %}',
      ['lines: list!', 'lines[].name: string!', 'lines[].price: number!'],
    ],
    ['{% for l in lines %}{% else %}none{% endfor %}', ['lines: list']],
    [
      '{% for g in gs %}{% for i in g.items %}{{ i.x }}{% endfor %}{% endfor %}',
      ['gs: list!', 'gs[].items: list!', 'gs[].items[].x: string!'],
    ],
    ['{% for t in tags %}{{ t }}{% endfor %}', ['tags: list!']],
    ['{{ tags | join: ", " }}', ['tags: list!']],
    ['{{ lines | sum: "price" }}', ['lines: list!', 'lines[].price: number']],
    ['{{ lines.size }}', ['lines: list!']],
    ['{{ lines[0].name }}', ['lines[].name: string!', 'lines: list']],
    [
      '{% assign s = lines | sort: "x" %}{% for l in s %}{{ l.name }}{% endfor %}',
      ['lines: list!', 'lines[].x: string', 'lines[].name: string!'],
    ],
    [
      '{% assign c = order.customer %}{{ c.name }}',
      ['order.customer.name: string!', 'order.customer: object!', 'order: object!'],
    ],
    ['{% capture x %}{{ y }}{% endcapture %}{{ x }}', ['y: string!']],
    ['{{ contact.first_name }}{{ message.id }}', []],
    ['{% for i in (1..n) %}{{ i }}{{ forloop.index }}{% endfor %}', ['n: number!']],
  ])('%s', (source, expected) => {
    expect(inferred(source)).toEqual(expected);
  });

  it('follows partials with their arguments', () => {
    const partials: Partials = (key) =>
      key === 'row' ? parseContent('{{ line.sku }}{{ shop }}', 'html', 'row') : undefined;
    expect(inferred('{% render "row" for lines as line %}', partials)).toEqual([
      'lines: list!',
      'lines[].sku: string!',
      'shop: string!',
    ]);
    expect(inferred('{% render "row", line: order.first_line %}', partials)).toContain(
      'order.first_line.sku: string!',
    );
  });

  it('prefers declarations over inference', () => {
    const merged = mergeVariables(
      inferVariables([parseContent('{{ a }}{{ b }}{{ c }}', 'text', 'text')]),
      [
        { name: 'b', type: 'number', description: 'how many' },
        { name: 'c', default: 'x' },
        { name: 'code', secret: true, required: true },
      ],
    );
    expect(merged).toEqual([
      { name: 'b', type: 'number', required: true, description: 'how many', declared: true },
      { name: 'c', type: 'string', required: false, default: 'x', declared: false },
      { name: 'code', type: 'string', required: true, secret: true, declared: false },
      { name: 'a', type: 'string', required: true, declared: false },
    ]);
  });
});

describe('the schema', () => {
  const source =
    '{{ name }}{{ note | default: "" }}{{ order.id }}{% for l in order.lines %}{{ l.price | money: "EUR" }}{% endfor %}{% if vip %}{% endif %}';
  const variables = mergeVariables(inferVariables([parseContent(source, 'text', 'text')]), [
    { name: 'name', type: 'string', example: 'Jane', description: 'The recipient.' },
  ]);
  const schema = variablesSchema(variables);
  const good = { name: 'J', order: { id: 7, lines: [{ price: 1 }, { price: '2.50' }] } };

  it('is JSON Schema 2020-12 with descriptions, defaults and examples', () => {
    expect(schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['name', 'order'],
      properties: {
        name: { type: 'string', examples: ['Jane'], description: 'The recipient.' },
        order: { type: 'object', required: ['id', 'lines'] },
      },
    });
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['values that render', good, []],
    ['null for optional values', { ...good, note: null, vip: null }, []],
    ['unused values', { ...good, extra: [] }, []],
    ['nothing', {}, ['/name missing_variable', '/order missing_variable']],
    ['a wrong type', { ...good, name: 5 }, ['/name invalid_variable']],
    [
      'a list that is not a list',
      { name: 'J', order: { id: 1, lines: 'x' } },
      ['/order/lines invalid_variable'],
    ],
    [
      'an item without a price',
      { name: 'J', order: { id: 1, lines: [{ price: 1 }, {}] } },
      ['/order/lines/1/price missing_variable'],
    ],
    [
      'a price that is not numeric',
      { name: 'J', order: { id: 1, lines: [{ price: 'ten' }] } },
      ['/order/lines/0/price invalid_variable'],
    ],
  ])('checks %s', (_, values, expected) => {
    expect(checkVariables(schema, values).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual(
      expected,
    );
  });

  it('escapes names in pointers and handles prototype names', () => {
    const odd = variablesSchema([
      { name: 'a/b~c', type: 'string', required: true, declared: true },
      { name: '__proto__', type: 'string', required: true, declared: true },
      { name: 'constructor', type: 'string', required: false, declared: true },
    ]);
    expect(checkVariables(odd, {}).map(({ pointer }) => pointer)).toContain('/a~1b~0c');
    expect(({} as { type?: string }).type).toBeUndefined();
  });

  it('has sample values that render', () => {
    const sample = sampleValues(variables);
    expect(sample).toMatchObject({
      name: 'Jane',
      order: { id: '[id]', lines: [{ price: 42 }, { price: 42 }] },
    });
    expect(checkVariables(schema, sample)).toEqual([]);
    expect(tryRender(source, 'text', sample).missing).toEqual([]);
  });
});

function inferred(source: string, partials?: Partials): string[] {
  return inferVariables([parseContent(source, 'html', 'html')], partials).map(
    ({ name, type, required }) => `${name}: ${type}${required ? '!' : ''}`,
  );
}

import { expect, test } from 'vitest';
import { problemMessage } from './problem-message.ts';

test('a value that is missing in several parts of the content is named once', () => {
  const missing = (field: string) => ({
    pointer: '/template_variables/name',
    code: 'missing_variable',
    detail: '`name` has no value and no default.',
    field,
  });
  const message = problemMessage({
    type: 'about:blank',
    title: 'Some placeholders have no value',
    status: 422,
    code: 'missing_variables',
    detail: 'Missing values: name.',
    fix: '',
    request_id: '',
    errors: ['subject', 'html', 'text'].map(missing),
  });
  expect(message).toBe(
    'Missing values: name. /template_variables/name: `name` has no value and no default.',
  );
});

import { expect, test } from 'vitest';
import { isAutoReply } from './auto-reply.ts';
import { HeaderFields } from './mime-structure.ts';

test.each([
  ['Auto-Submitted: auto-replied (vacation)', true],
  ['auto-submitted: auto-generated', true],
  ['Auto-Submitted: no', false],
  ['Precedence: bulk', true],
  ['X-Auto-Response-Suppress: All', true],
  ['Subject: Out of Office: Hello', true],
  ['Subject: Automatic reply: Hello', true],
  ['Subject: Re: your offer', false],
  ['Subject: Re: out of office hours', false],
])('%s: %s', (header, expected) => {
  expect(isAutoReply(new HeaderFields(header))).toBe(expected);
});

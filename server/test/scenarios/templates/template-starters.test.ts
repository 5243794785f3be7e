import { expect, test } from 'vitest';
import { TEMPLATE_STARTERS } from '../../../../dashboard/src/pages/templates/starters.ts';
import { startApp } from '../../harness/app.ts';

/** What a new template starts with in the dashboard can be published and sent as it is. */
test('every starter passes all checks and renders with its examples', async () => {
  await using app = await startApp();
  for (const [index, { label, content }] of TEMPLATE_STARTERS.entries()) {
    const key = `starter-${index}`;
    const created = await app.call('POST', '/templates', {
      body: { key, name: label, ...content },
    });
    expect([label, created.status]).toEqual([label, 201]);
    const checked = await app.call('POST', `/templates/${key}/check`, { body: {} });
    // A blank email has no preview text yet.
    const expected = label === 'Blank' ? ['preheader_missing'] : [];
    const { errors, warnings } = checked.json;
    const codes = [...errors, ...warnings].map(({ code }: { code: string }) => code);
    expect([label, codes]).toEqual([label, expected]);
    const rendered = await app.call('POST', `/templates/${key}/render`, { body: {} });
    expect([label, rendered.status]).toEqual([label, 200]);
    expect(rendered.json.html).not.toMatch(/\[[a-z_ ]+\]/);
  }
});

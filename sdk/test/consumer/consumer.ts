import { Postrider, type PostriderEvent, type Schema } from '../../dist/index.js';

/**
 * Uses the built package as another project would, with other compiler settings. It is compiled and
 * never run; lines that must not compile are marked.
 */

const postrider = new Postrider({ apiKey: 'pr_test_…', baseUrl: 'http://localhost:3000' });

export async function whatIsTyped(event: PostriderEvent): Promise<unknown[]> {
  const path = { key: 'welcome' };
  const { id }: { id: string } = await postrider.send({ to: { email: 'jane@example.com' } });
  const message: Schema<'Message'> = await postrider.messages.get(id);
  const template: Schema<'Template'> = await postrider.request('GET', '/templates/{key}', { path });
  const nothing: undefined = await postrider.request('DELETE', '/templates/{key}', { path });
  const rows: unknown[] = [message, template, nothing, await postrider.request('GET', '/limits')];
  for await (const { version } of postrider.all('/templates/{key}/versions', { path })) {
    rows.push(version satisfies number);
  }
  // Fields with a default are optional.
  await postrider.request('POST', '/webhooks', { body: { url: 'https://example.com/hook' } });
  // Files are text or bytes.
  for (const body of ['email\n', new Uint8Array()]) {
    rows.push(await postrider.request('POST', '/contacts/import', { body }));
  }
  if (event.type === 'message.bounced') rows.push(event.data.bounce.reason satisfies string);
  return rows;
}

export async function whatIsRefused(event: PostriderEvent): Promise<void> {
  // @ts-expect-error There is no such path.
  await postrider.request('GET', '/nowhere');
  // @ts-expect-error The path does not support this method.
  await postrider.request('DELETE', '/limits');
  // @ts-expect-error The path value is missing.
  await postrider.request('GET', '/templates/{key}');
  // @ts-expect-error The body is missing.
  await postrider.request('POST', '/templates');
  // @ts-expect-error The operation accepts JSON only.
  await postrider.request('POST', '/suppressions', { body: new Uint8Array() });
  // @ts-expect-error The recipient is an object.
  await postrider.send({ to: 'jane@example.com' });
  // @ts-expect-error There is no such filter.
  postrider.messages.list({ color: 'green' });
  // @ts-expect-error It is not a list.
  postrider.all('/limits');
  // @ts-expect-error There is no such event.
  if (event.type === 'message.eaten') return;
}

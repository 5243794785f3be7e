import type { publicMessage } from '../../messages/lookup/public-message.ts';
import { requireApi } from '../api/choose-target.ts';
import type { Command } from '../command.ts';
import { countOption } from '../count-option.ts';
import { listTime, paintState, table } from '../terminal.ts';

const LIMIT_DEFAULT = 20;
const PAGE_MAX = 100;

export const messagesList: Command = {
  name: 'messages list',
  summary: 'List messages, newest first.',
  target: 'api',
  options: {
    status: { value: 'STATUS', description: 'Only messages with this status, such as bounced.' },
    recipient: { value: 'ADDRESS', description: 'Only messages to this address.' },
    tag: { value: 'TAG', description: 'Only messages with this tag.' },
    template: { value: 'KEY', description: 'Only messages sent with this template.' },
    search: { value: 'TEXT', description: 'Search the subject and the addresses.' },
    limit: { value: 'N', description: `Maximum number of messages (default: ${LIMIT_DEFAULT}).` },
  },
  run: async (input) => {
    const limit = countOption(input, 'limit') ?? LIMIT_DEFAULT;
    const { client } = await requireApi(input);
    const query = {
      limit: Math.min(limit, PAGE_MAX),
      status: input.option('status'),
      recipient: input.option('recipient'),
      tag: input.option('tag'),
      template_key: input.option('template'),
      q: input.option('search'),
    };
    const data: ReturnType<typeof publicMessage>[] = [];
    for await (const message of client.all<(typeof data)[number]>('/messages', { query })) {
      data.push(message);
      if (data.length === limit) break;
    }
    const rows = data.map(({ id, status, created_at, recipients, subject }) => [
      id,
      paintState(status),
      listTime(created_at),
      recipientsText(recipients),
      subject,
    ]);
    return {
      data: { data },
      text:
        rows.length > 0
          ? table(['ID', 'STATUS', 'CREATED', 'TO', 'SUBJECT'], rows)
          : 'No messages.',
    };
  },
};

function recipientsText(recipients: readonly { email: string }[]): string {
  const [first] = recipients;
  const more = recipients.length > 1 ? ` +${recipients.length - 1}` : '';
  return `${first?.email ?? ''}${more}`;
}

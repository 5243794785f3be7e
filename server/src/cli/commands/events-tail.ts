import { requireApi } from '../api/choose-target.ts';
import { eventLine } from '../api/event-line.ts';
import type { Command } from '../command.ts';
import { countOption } from '../count-option.ts';
import { render } from '../terminal.ts';

export const eventsTail: Command = {
  name: 'events tail',
  summary: 'Print events as they happen.',
  details:
    'Continues after the last event when the connection is lost, without gaps. With --json, each line is one event. Ctrl-C ends it.',
  target: 'api',
  options: {
    type: { value: 'LIST', description: 'Only these types: message.bounced, or message.*.' },
    cursor: {
      value: 'CURSOR',
      description: 'Start after this `next_cursor` of the event list (default: now).',
    },
    limit: { value: 'N', description: 'Exit after this number of events.' },
  },
  run: async (input) => {
    const limit = countOption(input, 'limit');
    const { client } = await requireApi(input);
    const filter = { type: input.option('type'), cursor: input.option('cursor') };
    let count = 0;
    for await (const event of await client.events(filter)) {
      const isJson = input.flag('json');
      console.log(isJson ? JSON.stringify(event) : render(eventLine(event), process.stdout));
      count += 1;
      if (count === limit) break;
    }
    return 0;
  },
};

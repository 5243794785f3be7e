import { publicStream, STREAM_PURPOSES, type StreamPurpose } from '../../streams/stream.ts';
import { isStreamKey, STREAM_KEY_RULE } from '../../streams/stream-source.ts';
import { Streams } from '../../streams/streams.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, requiredOption, UsageError } from '../command.ts';

const NAME_LENGTH_MAX = 100;

export const streamsCreate: Command = {
  name: 'streams create',
  summary: 'Create a stream.',
  target: 'either',
  options: {
    key: {
      value: 'KEY',
      description: 'The key that identifies the stream in sends.',
      required: true,
    },
    purpose: {
      value: STREAM_PURPOSES.join('|'),
      description: 'subscription for mail that recipients can unsubscribe from.',
      required: true,
    },
    name: { value: 'NAME', description: 'A descriptive name (default: the key).' },
    ...WORKSPACE_OPTION,
  },
  run: async (input) => {
    const key = requiredOption(input, 'key');
    if (!isStreamKey(key)) throw new UsageError(STREAM_KEY_RULE);
    const purpose = parsePurpose(requiredOption(input, 'purpose'));
    const name = input.option('name')?.trim() ?? key;
    if (name === '' || name.length > NAME_LENGTH_MAX) {
      throw new UsageError(`--name must have 1 to ${NAME_LENGTH_MAX} characters.`);
    }
    const body = { key, purpose, name };
    const { data, where } = await onTarget<{ data: PublicStream; where: string }>(input, {
      api: async ({ client, url }) => ({
        data: await client.request<PublicStream>('POST', '/streams', { body }),
        where: url,
      }),
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const stream = await new Streams(parts).create(workspace.id, body);
        return { data: publicStream(stream), where: `workspace "${workspace.name}"` };
      },
    });
    return { data, text: `Created the ${purpose} stream ${key} in ${where}.` };
  },
};

type PublicStream = ReturnType<typeof publicStream>;

function parsePurpose(text: string): StreamPurpose {
  const purpose = STREAM_PURPOSES.find((one) => one === text);
  if (purpose) return purpose;
  throw new UsageError(`--purpose must be ${STREAM_PURPOSES.join(' or ')}, not "${text}".`);
}

import { publicStream, STREAM_PURPOSES, type StreamPurpose } from '../../streams/stream.ts';
import { isStreamKey, STREAM_KEY_RULE } from '../../streams/stream-source.ts';
import { Streams } from '../../streams/streams.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, requiredOption, UsageError } from '../command.ts';
import { withDatabase } from '../with-database.ts';

const NAME_LENGTH_MAX = 100;

export const streamsCreate: Command = {
  name: 'streams create',
  summary: 'Create a stream.',
  options: {
    key: { value: 'KEY', description: 'The key that sends name.', required: true },
    purpose: {
      value: STREAM_PURPOSES.join('|'),
      description: 'subscription for mail that recipients can leave.',
      required: true,
    },
    name: { value: 'NAME', description: 'A descriptive name (default: the key).' },
    ...WORKSPACE_OPTION,
  },
  run: (input) => {
    const key = requiredOption(input, 'key');
    if (!isStreamKey(key)) throw new UsageError(STREAM_KEY_RULE);
    const purpose = parsePurpose(requiredOption(input, 'purpose'));
    const name = input.option('name')?.trim() ?? key;
    if (name === '' || name.length > NAME_LENGTH_MAX) {
      throw new UsageError(`--name must have 1 to ${NAME_LENGTH_MAX} characters.`);
    }
    return withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const stream = await new Streams(parts).create(workspace.id, { key, purpose, name });
      return {
        data: publicStream(stream),
        text: `Created the ${purpose} stream ${key} in workspace "${workspace.name}".`,
      };
    });
  },
};

function parsePurpose(text: string): StreamPurpose {
  const purpose = STREAM_PURPOSES.find((one) => one === text);
  if (purpose) return purpose;
  throw new UsageError(`--purpose must be ${STREAM_PURPOSES.join(' or ')}, not "${text}".`);
}

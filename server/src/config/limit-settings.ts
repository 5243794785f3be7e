import { bytes, integer } from './setting-types.ts';

const MIB = 1024 ** 2;

/** Limits on what clients can send, and on how much of it is buffered. */
export const limits = {
  RATE_LIMIT_PER_SECOND: integer({
    description:
      'Maximum requests per second per workspace, on each node. Each message of a batch counts as a request. `GET` requests have a separate limit of the same size, and so does each signed-in user.',
    default: 100,
    min: 1,
    max: 1_000_000,
  }),
  RATE_LIMIT_BURST: integer({
    description: 'Maximum burst of requests per workspace, on each node.',
    default: 0,
    defaultText: 'twice the rate',
    min: 1,
    max: 2_000_000,
  }),
  REQUEST_BODY_MAX_BYTES: bytes({
    description: 'Maximum request body size.',
    default: 30 * MIB,
    defaultText: '30MiB',
    min: 1024,
  }),
  REQUEST_BUFFER_MAX_BYTES: bytes({
    description:
      'Maximum total size of request bodies in memory. Above it, requests that do not arrive in one piece are rejected with 503. A workspace with several such requests gets at most half of it.',
    default: 0,
    defaultText: 'an eighth of the memory, from 64MiB to 256MiB',
    min: 1024,
  }),
  MESSAGE_MAX_BYTES: bytes({
    description:
      'Maximum size of a message as sent, including encoded attachments. An inbound message can have 1 MiB more.',
    default: 25 * MIB,
    defaultText: '25MiB',
    min: 1024,
  }),
  CONTENT_MAX_BYTES: bytes({
    description: 'Maximum size of `html`, and of `text`.',
    default: 2 * MIB,
    defaultText: '2MiB',
    min: 1024,
  }),
  SUBJECT_MAX_BYTES: integer({
    description: 'Maximum subject length in UTF-8 bytes. The email standard allows 998.',
    default: 998,
    min: 78,
    max: 998,
  }),
  RECIPIENTS_MAX: integer({
    description: 'Maximum recipients per message (`to`, `cc` and `bcc` combined).',
    default: 50,
    min: 1,
    max: 1000,
  }),
  BATCH_MAX: integer({
    description: 'Maximum messages per batch request.',
    default: 500,
    min: 1,
    max: 10_000,
  }),
  HEADERS_MAX: integer({
    description: 'Maximum custom headers per message.',
    default: 20,
    min: 0,
    max: 100,
  }),
  HEADER_MAX_BYTES: bytes({
    description: 'Maximum size of a custom header.',
    default: 2048,
    defaultText: '2KiB',
    min: 64,
  }),
  SCHEDULE_MAX_DAYS: integer({
    description: 'How many days ahead a message can be scheduled.',
    default: 30,
    min: 0,
    max: 365,
  }),
  WORKSPACES_MAX: integer({
    description:
      'Maximum workspaces that owners can create from one workspace. The command line is not limited.',
    default: 50,
    min: 1,
    max: 1_000_000,
  }),
  ACCEPT_BUFFER_MAX_MESSAGES: integer({
    description: 'Maximum messages waiting to be committed. Above it, sends are rejected with 503.',
    default: 5000,
    min: 1,
    max: 1_000_000,
  }),
  ACCEPT_BUFFER_MAX_BYTES: bytes({
    description: 'Maximum total size of messages waiting to be committed.',
    default: 128 * MIB,
    defaultText: '128MiB',
    min: MIB,
  }),
};

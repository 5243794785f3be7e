import { bytes, integer } from './kinds.ts';

const MIB = 1024 ** 2;

/** How much callers may ask for, and how much of it may wait. */
export const limits = {
  RATE_LIMIT_PER_SECOND: integer({
    says: 'Requests a second of one workspace.',
    standard: 100,
    min: 1,
    max: 1_000_000,
  }),
  RATE_LIMIT_BURST: integer({
    says: 'Requests a workspace may make at once after a rest.',
    standard: 0,
    standardText: 'twice the rate',
    min: 1,
    max: 2_000_000,
  }),
  REQUEST_BODY_MAX_BYTES: bytes({
    says: 'Largest request body.',
    standard: 30 * MIB,
    standardText: '30MiB',
    min: 1024,
  }),
  MESSAGE_MAX_BYTES: bytes({
    says: 'Largest message, encoded as it is sent.',
    standard: 25 * MIB,
    standardText: '25MiB',
    min: 1024,
  }),
  CONTENT_MAX_BYTES: bytes({
    says: 'Largest `html`, and largest `text`.',
    standard: 2 * MIB,
    standardText: '2MiB',
    min: 1024,
  }),
  SUBJECT_MAX_BYTES: integer({
    says: 'Longest subject, in bytes of UTF-8. Mail itself allows 998.',
    standard: 998,
    min: 78,
    max: 998,
  }),
  RECIPIENTS_MAX: integer({
    says: '`to`, `cc` and `bcc` of one message together.',
    standard: 50,
    min: 1,
    max: 1000,
  }),
  BATCH_MAX: integer({
    says: 'Messages in one batch.',
    standard: 500,
    min: 1,
    max: 10_000,
  }),
  HEADERS_MAX: integer({
    says: 'Extra headers of one message.',
    standard: 20,
    min: 0,
    max: 100,
  }),
  HEADER_MAX_BYTES: bytes({
    says: 'Longest extra header.',
    standard: 2048,
    standardText: '2KiB',
    min: 64,
  }),
  SCHEDULE_MAX_DAYS: integer({
    says: 'How far ahead a message may be scheduled.',
    standard: 30,
    min: 0,
    max: 365,
  }),
  WORKSPACES_MAX: integer({
    says: 'Workspaces that there may be out of one, by all of its owners together. The command line makes more.',
    standard: 50,
    min: 1,
    max: 1_000_000,
  }),
  ACCEPT_BUFFER_MAX_MESSAGES: integer({
    says: 'Messages that may wait for their commit at the same time; beyond it the answer is 503.',
    standard: 5000,
    min: 1,
    max: 1_000_000,
  }),
  ACCEPT_BUFFER_MAX_BYTES: bytes({
    says: 'Their size together.',
    standard: 128 * MIB,
    standardText: '128MiB',
    min: MIB,
  }),
};

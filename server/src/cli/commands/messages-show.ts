import type { ApiEvent } from '../api/api-client.ts';
import { requireApi } from '../api/choose-target.ts';
import { eventLine } from '../api/event-line.ts';
import type { Command } from '../command.ts';
import { lines, type Piece, paint, paintState, styled } from '../terminal.ts';

export const messagesShow: Command = {
  name: 'messages show',
  summary: 'Show a message, the state of each recipient, and what happened.',
  target: 'api',
  arguments: [{ name: 'ID', description: 'The id of the message (msg_…).' }],
  options: {
    attempts: { description: 'Also show the SMTP dialog of each delivery attempt.' },
  },
  run: async (input) => {
    const [id = ''] = input.arguments;
    const { client } = await requireApi(input);
    const message = await client.request<Message>('GET', '/messages/{id}', { path: { id } });
    if (!input.flag('attempts')) return { data: message, text: lines(describe(message)) };
    const { data: attempts } = await client.request<{ data: Attempt[] }>(
      'GET',
      '/messages/{id}/attempts',
      { path: { id } },
    );
    return {
      data: { ...message, attempts },
      text: lines([...describe(message), ...attempts.flatMap(describeAttempt)]),
    };
  },
};

/** The fields that are shown; `--json` prints all of them. */
interface Message {
  id: string;
  status: string;
  mode: string;
  created_at: string;
  scheduled_at: string | null;
  from: { email: string };
  subject: string;
  tags: string[];
  recipients: Recipient[];
  events: ApiEvent[];
}

interface Recipient {
  email: string;
  status: string;
  explanation: string | null;
  next_attempt_at: string | null;
  smtp: { code: number; text: string } | null;
}

interface Attempt {
  recipient: string;
  number: number;
  started_at: string;
  outcome: string;
  transcript: { side: 'us' | 'them' | 'note'; text: string }[];
}

function describe(message: Message): Piece[] {
  const { id, status, mode, from, subject, tags, created_at, scheduled_at } = message;
  return [
    styled`${paint('bold', subject)}  ${paintState(status)}`,
    `${id}, ${mode}, from ${from.email}, created ${created_at}`,
    ...(scheduled_at === null ? [] : [`Scheduled for ${scheduled_at}`]),
    ...(tags.length === 0 ? [] : [`Tags: ${tags.join(', ')}`]),
    '',
    ...message.recipients.flatMap(describeRecipient),
    '',
    ...message.events.map(eventLine),
  ];
}

function describeRecipient({
  email,
  status,
  explanation,
  smtp,
  next_attempt_at,
}: Recipient): Piece[] {
  return [
    styled`${email}: ${paintState(status)}`,
    ...(explanation === null ? [] : [`  ${explanation}`]),
    ...(smtp === null ? [] : [paint('dim', `  ${smtp.code} ${smtp.text}`)]),
    ...(next_attempt_at === null ? [] : [`  Next attempt: ${next_attempt_at}`]),
  ];
}

const SIDES = { us: '→', them: '←', note: ' ' } as const;

function describeAttempt({ recipient, number, started_at, outcome, transcript }: Attempt): Piece[] {
  return [
    '',
    styled`Attempt ${String(number)} for ${recipient} at ${started_at}: ${paintState(outcome)}`,
    ...transcript.map(({ side, text }) => paint('dim', `  ${SIDES[side]} ${text}`)),
  ];
}

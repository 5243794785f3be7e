import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { appendRecord } from './response-log.ts';

/** A client for server-sent events that keeps everything it received. */
export interface EventSourceReader {
  readonly events: { id: string; type: string; data: Record<string, unknown> }[];
  /** The last id that the server sent, with or without an event. */
  readonly lastId: string;
  readonly comments: number;
  readonly ended: boolean;
  close(): void;
}

export async function openEventSource(
  url: string,
  /** An API key, or the headers of a session. */
  credentials: string | Record<string, string>,
  lastEventId?: string,
): Promise<EventSourceReader> {
  const request = http.get(url, {
    // Its own connection, because a keep-alive agent would hold more connections than it uses.
    agent: false,
    headers: {
      ...(typeof credentials === 'string'
        ? { authorization: `Bearer ${credentials}` }
        : credentials),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.setEncoding('utf8');
  const refusal = response.statusCode === 200 ? undefined : JSON.parse(await text(response));
  appendRecord({
    method: 'GET',
    path: new URL(url).pathname,
    status: response.statusCode ?? 0,
    code: refusal?.code ?? null,
    mediaType: response.headers['content-type']?.split(';', 1)[0] ?? '',
  });
  if (refusal) throw new Error(`Refused: ${response.statusCode} ${refusal.code}`);
  const state = {
    events: [] as EventSourceReader['events'],
    lastId: '',
    comments: 0,
    ended: false,
    close: () => void request.destroy(),
  };
  let unread = '';
  response.on('data', (chunk: string) => {
    unread += chunk;
    for (let end = unread.indexOf('\n\n'); end >= 0; end = unread.indexOf('\n\n')) {
      parseBlock(state, unread.slice(0, end));
      unread = unread.slice(end + 2);
    }
  });
  response.on('error', () => {});
  request.on('error', () => {});
  response.on('close', () => {
    state.ended = true;
  });
  return state;
}

function parseBlock(
  state: { events: EventSourceReader['events']; lastId: string; comments: number },
  block: string,
): void {
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) state.lastId = line.slice(4);
    if (line.startsWith(':')) state.comments += 1;
    if (line.startsWith('data: ')) state.events.push(JSON.parse(line.slice(6)));
  }
}

import { type Api, type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { useLiveList } from '../../layout/live-list.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';

export type MessageSummary = Schema<'MessageSummary'>;

/** The page's search parameters. */
export interface MessageFilters extends TimeRange {
  q?: string;
  /** A status, or `complained`. */
  status?: string;
  recipient?: string;
  /** A mailbox provider, named as in the statistics, or a recipient domain. */
  receiver?: string;
  /** The sender domain. */
  domain?: string;
  stream?: string;
  tag?: string;
  template?: string;
  metadata?: string;
  /** Why a recipient did not get the message. */
  reason?: string;
  /** The id of the API key that sent it. */
  key?: string;
}

const PAGE_ROWS = 100;

/** The message list; new messages appear at the top without a reload. */
export function useMessages(filters: MessageFilters) {
  const { api, key } = useApi();
  return useLiveList(key('messages', filters), 'message', (cursor) =>
    fetchMessages(api, filters, cursor),
  );
}

export function fetchMessages(api: Api, filters: MessageFilters, cursor: string | undefined) {
  const query = {
    limit: PAGE_ROWS,
    ...(cursor === undefined ? {} : { cursor }),
    ...messageQuery(filters),
  };
  return unwrap(api.GET('/api/v1/messages', { params: { query: query as { limit: number } } }));
}

/** The parameters of the API for these filters. */
export function messageQuery(filters: MessageFilters): Record<string, string> {
  const { q, status, recipient, receiver, domain, stream, tag, template, metadata } = filters;
  const { reason, key } = filters;
  const [name, ...value] = metadata?.split('=') ?? [];
  return {
    ...(q ? { q } : {}),
    ...statusQuery(status),
    ...(recipient ? { recipient } : {}),
    ...(receiver ? { receiver } : {}),
    ...(domain ? { domain } : {}),
    ...(stream ? { stream } : {}),
    ...(tag ? { tag } : {}),
    ...(template ? { template_key: template } : {}),
    ...(name ? { [`metadata[${name}]`]: value.join('=') } : {}),
    ...(reason ? { reason } : {}),
    ...(key ? { api_key_id: key } : {}),
    ...timeQuery(filters, Date.now()),
  };
}

/** A complaint is not a status, but it is looked for like one. */
function statusQuery(status: string | undefined): Record<string, string> {
  if (!status) return {};
  return status === 'complained' ? { complained: 'true' } : { status };
}

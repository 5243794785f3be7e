import { type Api, type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { useLiveList } from '../../layout/live-list.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';

export type InboundSummary = Schema<'InboundMessageSummary'>;

/** The page's search parameters. */
export interface InboundFilters extends TimeRange {
  q?: string;
  from?: string;
  /** An address, or all addresses at a domain: @example.com. */
  to?: string;
  /** The receiving domain. */
  domain?: string;
  /** The id of the message that they answer. */
  answers?: string;
}

const PAGE_ROWS = 100;

/** The list of inbound messages; new ones appear at the top without a reload. */
export function useInboundMessages(filters: InboundFilters) {
  const { api, key } = useApi();
  return useLiveList(key('inbound-messages', filters), 'inbound_message', (cursor) =>
    fetchInboundMessages(api, filters, cursor),
  );
}

function fetchInboundMessages(api: Api, filters: InboundFilters, cursor: string | undefined) {
  const query = {
    limit: PAGE_ROWS,
    ...(cursor === undefined ? {} : { cursor }),
    ...inboundQuery(filters),
  };
  return unwrap(api.GET('/api/v1/inbound-messages', { params: { query } }));
}

/** The parameters of the API for these filters. */
function inboundQuery({ q, from, to, domain, answers, ...range }: InboundFilters) {
  const { created_after, created_before } = timeQuery(range, Date.now());
  return {
    ...(q ? { q } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
    ...(domain ? { domain } : {}),
    ...(answers ? { in_reply_to_message_id: answers } : {}),
    ...(created_after ? { received_after: created_after } : {}),
    ...(created_before ? { received_before: created_before } : {}),
  };
}

/** The sender to show. Bounces and automatic replies may have no address at all. */
export function senderOf({ from, envelope }: InboundSummary): { email: string; name: string } {
  const email = from?.email || envelope.from;
  return { email, name: from?.name || email || 'Unknown sender' };
}

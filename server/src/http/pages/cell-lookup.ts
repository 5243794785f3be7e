import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { hashToken } from '../../accounts/api-key-token.ts';
import {
  type MoveState,
  readMoveState,
  readMoveStateOfCredential,
  readMoveStateOfKey,
} from '../../accounts/workspace-move-store.ts';
import { WorkspaceMovingError } from '../../accounts/workspace-moving.ts';
import type { InboundReports } from '../../bounces/inbound-reports.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { InboundReceiver } from '../../inbound/inbound-receiver.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { isComplaintsAddress } from '../../mail/return-path-address.ts';
import { UNSUBSCRIBE_PATH } from '../../messages/unsubscribe-path.ts';
import type { UnsubscribeLinks } from '../../unsubscribe/unsubscribe-links.ts';
import { certificateKeyId, keyIdOfToken, SNS_PATH } from '../../webhooks/formats/ses-sns.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/**
 * Answers a router that looks for the installation of a request: does this one hold what the request
 * names? It requires ROUTER_TOKEN, and the router never forwards it, so no client can use it.
 */
export interface CellLookupDependencies {
  routerToken: string;
  pool: Pool;
  unsubscribeLinks: Pick<UnsubscribeLinks, 'read'>;
  webhooks: Pick<Webhooks, 'findCertificate'>;
  reports: Pick<InboundReports, 'resolveAddress' | 'resolveRouted'>;
  inbound: Pick<InboundReceiver, 'findReceiver'>;
}

export const CELL_LOOKUP_PATH = '/cell-lookup';

/**
 * A header of responses to requests whose key is not here: the router then queries all cells again. It
 * is independent of the surface, whose errors may be those of another provider.
 */
export const MISDIRECTED_HEADER = 'postrider-misdirected';

/** `moving`: here, but on its way to another installation, and not usable. */
export type CellState = 'here' | 'moving' | 'absent';

/**
 * What a request names: the SHA-256 of a key, an access key ID, a workspace, or its own path. `report`: the
 * recipient of a bounce or complaint. `receiver`: a domain for which receiving may be on.
 */
export type LookupKind = 'key' | 'credential' | 'workspace' | 'link' | 'report' | 'receiver';

export function registerCellLookup(server: FastifyInstance, deps: CellLookupDependencies): void {
  server.get<{ Querystring: Record<string, unknown> }>(
    CELL_LOOKUP_PATH,
    { onRequest: requireRouterToken(deps.routerToken) },
    async (request, reply) => {
      const { kind, value } = request.query;
      const state = await find(deps, kind, typeof value === 'string' ? value : '');
      if (!state) throw new RefusedError('malformed_request', 'Unknown kind of lookup.');
      return reply.header('cache-control', 'no-store').send({ state });
    },
  );
}

/** A hook that refuses all others before their body is read. */
export function requireRouterToken(routerToken: string): onRequestHookHandler {
  const expected = hashToken(`Bearer ${routerToken}`);
  return ({ headers }, _reply, done) => {
    const isRouter = timingSafeEqual(hashToken(headers.authorization ?? ''), expected);
    if (isRouter) done();
    else done(new RefusedError('invalid_api_key', 'This path requires ROUTER_TOKEN.'));
  };
}

async function find(
  { pool, unsubscribeLinks, webhooks, reports, inbound }: CellLookupDependencies,
  kind: unknown,
  value: string,
): Promise<CellState | undefined> {
  switch (kind as LookupKind) {
    case 'key':
      return toCellState(await readMoveStateOfKey(pool, Buffer.from(value, 'hex')));
    case 'credential':
      return toCellState(await readMoveStateOfCredential(pool, value));
    case 'workspace':
      return UUID.test(value) ? toCellState(await readMoveState(pool, value)) : 'absent';
    case 'link': {
      if (value.startsWith(UNSUBSCRIBE_PATH)) {
        const link = unsubscribeLinks.read(value.slice(UNSUBSCRIBE_PATH.length));
        return link ? toCellState(await readMoveState(pool, link.workspaceId)) : 'absent';
      }
      const keyId = signingKeyOf(value);
      return keyId && (await webhooks.findCertificate(keyId)) ? 'here' : 'absent';
    }
    case 'report':
      return unlessMoving(() => findReport(reports, value));
    case 'receiver':
      return unlessMoving(() => inbound.findReceiver(value));
    default:
      return undefined;
  }
}

async function unlessMoving(find: () => Promise<unknown>): Promise<CellState> {
  try {
    return (await find()) === undefined ? 'absent' : 'here';
  } catch (error) {
    if (error instanceof WorkspaceMovingError) return 'moving';
    throw error;
  }
}

/** Complaints are for the cell with the bounce host; a signed address may be of any. */
function findReport(reports: CellLookupDependencies['reports'], address: string): Promise<unknown> {
  return isComplaintsAddress(address)
    ? reports.resolveAddress(address)
    : reports.resolveRouted(address);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function toCellState(state: MoveState): CellState {
  if (state === 'active' || state === 'deleting') return 'here';
  return state === 'moving' ? 'moving' : 'absent';
}

/** The key that a path below SNS_PATH names, in its file name or its query. */
function signingKeyOf(link: string): string | undefined {
  const { pathname, searchParams } = new URL(link, 'http://localhost');
  if (!pathname.startsWith(SNS_PATH)) return undefined;
  const file = pathname.slice(SNS_PATH.length);
  return file === '' ? keyIdOfToken(searchParams.get('Token') ?? '') : certificateKeyId(file);
}

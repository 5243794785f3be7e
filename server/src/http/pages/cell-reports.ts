import type { FastifyInstance } from 'fastify';
import type { InboundReports } from '../../bounces/inbound-reports.ts';
import type { ReportOutcome } from '../../bounces/report-outcome.ts';
import { requireRouterToken } from './cell-lookup.ts';

/**
 * Accepts bounces and complaints that a router has received over SMTP: the message is the body, and its
 * envelope is in the query. A response means that the report is committed. It requires ROUTER_TOKEN, and
 * the router never forwards it, so no client can use it.
 */
export interface CellReportsDependencies {
  routerToken: string;
  reports: Pick<InboundReports, 'resolveRouted' | 'process'>;
}

export const CELL_REPORTS_PATH = '/cell-reports';

/** `absent`: the message of the address is not here, or not any more. */
export type RoutedReportResponse = { state: 'absent' } | { outcomes: ReportOutcome[] };

/** The router keeps only the beginning of a report. */
const BODY_BYTES_MAX = 1024 * 1024;

export function registerCellReports(server: FastifyInstance, deps: CellReportsDependencies): void {
  const { reports, routerToken } = deps;
  void server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'message/rfc822',
      { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.post<{ Querystring: Record<string, unknown>; Body: Buffer }>(
      CELL_REPORTS_PATH,
      { onRequest: requireRouterToken(routerToken) },
      async ({ query, body }, reply): Promise<RoutedReportResponse> => {
        const { from = '', to = '' } = query;
        void reply.header('cache-control', 'no-store');
        const address = await reports.resolveRouted(String(to));
        if (!address) return { state: 'absent' };
        return { outcomes: await reports.process(body, { from: String(from), to: [address] }) };
      },
    );
  });
}

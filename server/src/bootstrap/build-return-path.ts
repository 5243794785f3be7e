import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { IpRanges } from '../lib/net/ip-ranges.ts';
import { InboundReports } from '../bounces/inbound-reports.ts';
import type { Config } from '../config/read-config.ts';
import type { Pool } from '../db/pool.ts';
import { StorageStartError } from '../db/database-errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ReturnPathListener, type ReturnPathLimits } from '../smtp/return-path-listener.ts';
import { isHostError, explainListenError } from '../smtp/smtp-service.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';

/** The door for bounces and complaints: opened or not, as the configuration says. */
export interface ReturnPathPort {
  /** Opens the port; the server goes on without it when the default port is taken. */
  listen(): Promise<void>;
  /** Undefined while it is closed. */
  readonly place: AddressInfo | undefined;
  renewCertificate(): Promise<void>;
  drain(limitMs: number): Promise<void>;
}

export interface ReturnPathNeeds {
  config: Config;
  clock: Clock;
  log: Log;
  registry: Registry;
  pool: Pool;
  suppressions: Suppressions;
  returnPathKey: Buffer;
  /** Events were appended. */
  onEventsAppended: () => void;
  limits?: Partial<ReturnPathLimits>;
}

export async function openReturnPath(needs: ReturnPathNeeds): Promise<ReturnPathPort> {
  const { config, log } = needs;
  const { returnPath } = config;
  const { port: wanted } = returnPath;
  const isHere = wanted !== undefined && config.roles.has('smtp');
  const door = isHere ? await openDoor(needs) : undefined;
  let place: AddressInfo | undefined;
  return {
    async listen() {
      if (!door || wanted === undefined) return;
      try {
        place = await door.listen({ host: returnPath.host, port: wanted });
      } catch (error) {
        const sentence = explainListenError(error, returnPath, {
          host: 'RETURN_PATH_HOST',
          port: 'RETURN_PATH_PORT',
        });
        if (sentence === undefined) throw error;
        if (returnPath.portIsExplicit || isHostError(error)) throw new StorageStartError(sentence);
        log.warn({ port: wanted }, `bounces and complaints are not taken: ${sentence}`);
      }
    },
    get place() {
      return place;
    },
    renewCertificate: async () => door?.renewCertificate(),
    drain: async (limitMs) => {
      if (place) await door?.drain(limitMs);
    },
  };
}

function openDoor(needs: ReturnPathNeeds): Promise<ReturnPathListener> {
  const { config, clock, log, registry } = needs;
  const reports = new InboundReports({ ...needs, bounceHost: config.domains.bounceHost });
  return ReturnPathListener.open({
    clock,
    log,
    registry,
    reports,
    hostname: config.delivery.heloName,
    baseUrl: config.http.baseUrl,
    certificate: config.submission.tls,
    trustedProxies: new IpRanges(config.returnPath.trustProxy),
    connectionsMax: config.returnPath.connectionsMax,
    connectionsPerNetwork: config.returnPath.connectionsPerSource,
    sentBytesMax: config.limits.messageMaxBytes,
    ...(needs.limits ? { limits: needs.limits } : {}),
  });
}

import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { InboundReports } from '../bounces/inbound-reports.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { StorageOutage } from '../db/connections/storage-outage.ts';
import { countLateRefusal } from '../delivery/warm-up/warm-up-store.ts';
import type { Log } from '../lib/log.ts';
import { IpRanges } from '../lib/net/ip-ranges.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type MailReceiver,
  type ReturnPathLimits,
  ReturnPathListener,
} from '../smtp/return-path-listener.ts';
import { explainListenError, isHostError } from '../smtp/smtp-service.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import type { Unsubscribes } from '../unsubscribe/unsubscribes.ts';

/** The SMTP listener for reports and inbound mail, if it is enabled in this process. */
export interface ReturnPath {
  /** Opens the port. If the default port is taken, the server runs without it. */
  listen(): Promise<void>;
  /** Undefined while the listener is closed. */
  readonly address: AddressInfo | undefined;
  renewCertificate(): Promise<void>;
  drain(limitMs: number): Promise<void>;
}

export interface ReturnPathOptions<Address> {
  config: Config;
  clock: Clock;
  log: Log;
  registry: Registry;
  outage: StorageOutage;
  receiver: MailReceiver<Address>;
  /** The address is added when the listener is open. */
  localListeners: AddressInfo[];
  limits?: Partial<ReturnPathLimits> | undefined;
}

/** What this node does with bounces and complaints. */
export function createReports(parts: {
  config: Config;
  clock: Clock;
  log: Log;
  pool: Pool;
  suppressions: Suppressions;
  unsubscribes: Pick<Unsubscribes, 'unsubscribeByMail'>;
  returnPathKey: Buffer;
  onEventsAppended: () => void;
}): InboundReports {
  const { config, unsubscribes } = parts;
  return new InboundReports({
    ...parts,
    bounceHost: config.domains.bounceHost,
    complaintScope: config.returnPath.complaintScope,
    countRefusal: countLateRefusal,
    unsubscribe: (sent) => unsubscribes.unsubscribeByMail(sent),
  });
}

export async function buildReturnPath<Address>(
  options: ReturnPathOptions<Address>,
): Promise<ReturnPath> {
  const { config, log, localListeners } = options;
  const { host, port, portIsExplicit } = config.returnPath;
  const isEnabled = port !== undefined && config.roles.has('smtp');
  const listener = isEnabled ? await createListener(options) : undefined;
  let address: AddressInfo | undefined;
  return {
    async listen() {
      if (!listener || port === undefined) return;
      try {
        address = await listener.listen({ host, port });
        if (address) localListeners.push(address);
      } catch (error) {
        const reason = explainListenError(error, config.returnPath, {
          host: host === config.http.host ? 'HOST' : 'RETURN_PATH_HOST',
          port: 'RETURN_PATH_PORT',
        });
        if (reason === undefined) throw error;
        if (portIsExplicit || isHostError(error)) throw new StorageStartError(reason);
        log.warn({ port, reason }, 'bounces, complaints and inbound mail cannot be received');
      }
    },
    get address() {
      return address;
    },
    renewCertificate: async () => listener?.renewCertificate(),
    drain: async (limitMs) => {
      if (address) await listener?.drain(limitMs);
    },
  };
}

function createListener<Address>(
  options: ReturnPathOptions<Address>,
): Promise<ReturnPathListener<Address>> {
  const { config, clock, log, registry, receiver } = options;
  return ReturnPathListener.open({
    clock,
    log,
    registry,
    outage: options.outage,
    receiver,
    hostname: config.delivery.heloName,
    baseUrl: config.http.baseUrl,
    certificate: config.submission.tls,
    trustedProxies: new IpRanges(config.returnPath.trustProxy),
    connectionsMax: config.returnPath.connectionsMax,
    connectionsPerNetwork: config.returnPath.connectionsPerSource,
    sentBytesMax: config.limits.messageMaxBytes,
    ...(options.limits ? { limits: options.limits } : {}),
  });
}

import type { OutgoingAddresses } from '../../../src/config/outgoing-addresses.ts';
import { createShaping, type ShapingRules } from '../../../src/delivery/receivers/shaping.ts';
import type { RouteSetting } from '../../../src/delivery/transport/delivery-route.ts';
import type { SenderDomains } from '../../../src/delivery/transport/outgoing-mail.ts';
import {
  type DirectTransport,
  type SmtpTransportParts,
  smtpTransport,
  type ThrottleMemory,
} from '../../../src/delivery/transport/smtp-transport.ts';
import type { Clock } from '../../../src/lib/time/clock.ts';
import { createResolver } from '../../../src/mail/dns/resolver.ts';
import { createMtaSts } from '../../../src/mail/policy/mta-sts.ts';
import type { SmtpTimeouts } from '../../../src/mail/smtp-client/timeouts.ts';

/** The live route, pointed at a test's receivers and name server. */
export interface LiveRouteOptions {
  clock: Clock;
  /** In the format of DNS_SERVERS. */
  dns: string;
  mxPort?: number;
  routes?: RouteSetting[];
  outgoing?: OutgoingAddresses;
  timeouts?: Partial<SmtpTimeouts>;
  shaping?: ShapingRules;
  throttles?: ThrottleMemory;
  warmUp?: SmtpTransportParts['warmUp'];
  openingsMax?: number;
  isOwnAddress?: (ip: string, port: number) => boolean;
  senders: SenderDomains;
  /** The policy that a receiver's MTA-STS host serves. */
  stsPolicy?: string;
}

export const RETURN_PATH_KEY = Buffer.alloc(32, 7);
export const HELO_NAME = 'mail.sender.test';

export function liveRoute(options: LiveRouteOptions): DirectTransport {
  const { clock } = options;
  const resolver = createResolver({ clock, servers: [options.dns] });
  const { stsPolicy } = options;
  const mtaSts = createMtaSts({
    resolver,
    clock,
    fetchPolicy: async () =>
      stsPolicy === undefined
        ? { kind: 'failed', detail: 'There is no policy file.' }
        : { kind: 'fetched', text: stsPolicy },
  });
  return smtpTransport({
    clock,
    resolver,
    mtaSts,
    routes: options.routes ?? [{ kind: 'direct' }],
    mxPort: options.mxPort ?? 25,
    addressAllowed: () => true,
    outgoing: options.outgoing ?? { ipv4: 'any', ipv6: 'any' },
    heloName: HELO_NAME,
    listenerName: HELO_NAME,
    senders: options.senders,
    returnPathKey: RETURN_PATH_KEY,
    shaping: createShaping(options.shaping),
    isOwnAddress: options.isOwnAddress ?? (() => false),
    mayReceiveMailFor: async () => false,
    openingsMax: options.openingsMax ?? 50,
    throttles: options.throttles ?? { load: async () => [], save: () => {} },
    ...(options.warmUp ? { warmUp: options.warmUp } : {}),
    ...(options.timeouts ? { timeouts: options.timeouts } : {}),
  });
}

/** For tests that do not check signatures: signing thousands of messages takes long. */
export const unsignedSenders: SenderDomains = {
  settingsFor: async () => ({
    maySend: true,
    tls: 'opportunistic',
    returnPathHost: 'bounces.example.com',
    unsigned: true,
  }),
  keysFor: async () => [],
};

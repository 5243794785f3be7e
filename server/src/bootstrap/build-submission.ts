import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { RateLimiter } from '../accounts/rate-limit.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/database-errors.ts';
import type { SmtpSettings } from '../http/routes/service/get-smtp.ts';
import { SendMessage } from '../http/routes/transactional/schemas.ts';
import { bodyValidator } from '../http/validation/schema-validator.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { IpRanges } from '../lib/net/ip-ranges.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import { explainListenError, isHostError } from '../smtp/smtp-service.ts';
import type { SubmissionLimits } from '../smtp/submission/submission-listener.ts';
import { SubmissionListener } from '../smtp/submission/submission-listener.ts';

/** The door for programs that speak SMTP: opened or not, as the configuration says. */
export interface Submission {
  /** Opens the ports; the server goes on without the first when its default is taken. */
  listen(): Promise<void>;
  /** Undefined while it is closed, as is the one for TLS from the first byte. */
  readonly port: number | undefined;
  readonly tlsPort: number | undefined;
  /** Of both. */
  readonly places: readonly AddressInfo[];
  /** What the API tells about it. */
  settings(): SmtpSettings;
  renewCertificate(): Promise<void>;
  drain(limitMs: number): Promise<void>;
}

export interface SubmissionNeeds {
  config: Config;
  clock: Clock;
  log: Log;
  registry: Registry;
  acceptor: MessageAcceptor;
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  limits?: Partial<SubmissionLimits>;
}

const OFF = 'The operator has switched it off.';
const NOT_HERE =
  'This process takes no mail by SMTP (ROLES); another one may, and SUBMISSION_URL would tell where.';

export async function openSubmission(needs: SubmissionNeeds): Promise<Submission> {
  const { config, log } = needs;
  const { submission, limits, http } = config;
  const isHere = config.roles.has('smtp');
  const isWanted = submission.port !== undefined || submission.tlsPort !== undefined;
  const door = isWanted && isHere ? await openDoor(needs) : undefined;
  let place: AddressInfo | undefined;
  let tlsPlace: AddressInfo | undefined;
  let closedBecause = isHere ? OFF : NOT_HERE;
  const places = () => [place, tlsPlace].filter((one) => one !== undefined);
  return {
    async listen() {
      if (submission.port !== undefined) {
        place = await listenOn('SUBMISSION_PORT', { port: submission.port });
      }
      if (submission.tlsPort !== undefined) {
        const wanted = { port: submission.tlsPort, implicitTls: true };
        tlsPlace = await listenOn('SUBMISSION_TLS_PORT', wanted);
      }
    },
    get port() {
      return place?.port;
    },
    get tlsPort() {
      return tlsPlace?.port;
    },
    get places() {
      return places();
    },
    settings() {
      const { publicAddress: reachedAt } = submission;
      const open = places().length > 0 || (!isHere && reachedAt !== undefined);
      const port = (reachedAt ? reachedAt.port : place?.port) ?? null;
      const tlsPort = (reachedAt ? reachedAt.tlsPort : tlsPlace?.port) ?? null;
      return {
        open,
        closed_because: open ? null : closedBecause,
        host: reachedAt?.host ?? new URL(http.baseUrl).hostname,
        port: open ? port : null,
        tls_port: open ? tlsPort : null,
        user: 'postrider',
        starttls: open && port !== null && submission.tls !== undefined,
        plaintext: submission.allowPlaintext ? 'anywhere' : 'this_machine',
      };
    },
    renewCertificate: async () => door?.renewCertificate(),
    drain: async (limitMs) => door?.drain(limitMs),
  };

  async function listenOn(
    variable: 'SUBMISSION_PORT' | 'SUBMISSION_TLS_PORT',
    wanted: { port: number; implicitTls?: boolean },
  ): Promise<AddressInfo | undefined> {
    const ownPlace = { host: submission.host, ...wanted };
    try {
      return await door?.listen(ownPlace);
    } catch (error) {
      const sentence = explainListenError(error, ownPlace, {
        host: 'SUBMISSION_HOST',
        port: variable,
      });
      if (sentence === undefined) throw error;
      const isWished = variable === 'SUBMISSION_TLS_PORT' || submission.portIsExplicit;
      // A port may be taken by chance; a wrong address is always a mistake.
      if (isWished || isHostError(error)) throw new StorageStartError(sentence);
      closedBecause = sentence;
      log.warn({ port: wanted.port }, `mail is not taken by SMTP: ${sentence}`);
      return undefined;
    }
  }

  function openDoor(parts: SubmissionNeeds): Promise<SubmissionListener> {
    const shape = bodyValidator(SendMessage);
    return SubmissionListener.open({
      clock: parts.clock,
      log,
      registry: parts.registry,
      acceptor: parts.acceptor,
      authenticator: parts.authenticator,
      rateLimiter: parts.rateLimiter,
      checkShape: (body) => shape.check(body),
      hostname: config.delivery.heloName,
      certificate: submission.tls,
      allowPlaintext: submission.allowPlaintext,
      trustedProxies: new IpRanges(submission.trustProxy),
      connectionsMax: submission.connectionsMax,
      connectionsPerNetwork: submission.connectionsPerSource,
      messageBytesMax: limits.messageMaxBytes,
      recipientsMax: limits.recipientsMax,
      memoryBytesMax: limits.acceptBufferMaxBytes,
      ...(parts.limits ? { limits: parts.limits } : {}),
    });
  }
}

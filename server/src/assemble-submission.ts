import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Authenticator } from './accounts/authenticate.ts';
import type { RateLimiter } from './accounts/rate-limit.ts';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config/read-config.ts';
import type { SmtpSettings } from './doors/http/operations/get-smtp.ts';
import { SendMessage } from './doors/http/schemas/messages.ts';
import { bodyValidator } from './doors/http/validate.ts';
import type { SmtpDoorLimits } from './doors/smtp/door-limits.ts';
import { portFault } from './doors/smtp/smtp-port.ts';
import { SubmissionDoor } from './doors/smtp/submission-door.ts';
import type { MessageAcceptor } from './messages/accept-message.ts';
import { StorageStartError } from './storage/start-error.ts';

/** The door for programs that speak SMTP: opened or not, as the configuration says. */
export interface Submission {
  /** Opens the port; the server goes on without it when the default port is taken. */
  listen(): Promise<void>;
  /** Undefined while it is closed. */
  readonly port: number | undefined;
  readonly place: AddressInfo | undefined;
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
  limits?: Partial<SmtpDoorLimits>;
}

const OFF = 'The operator has switched it off.';
const NOT_HERE = 'This process takes no mail by SMTP (ROLES); another one may.';

export async function openSubmission(needs: SubmissionNeeds): Promise<Submission> {
  const { config, log } = needs;
  const { submission, limits, http } = config;
  const { port: wanted } = submission;
  const isHere = config.roles.has('smtp');
  const door = wanted === undefined || !isHere ? undefined : await openDoor(needs, wanted);
  let place: AddressInfo | undefined;
  let closedBecause: string | null = isHere ? OFF : NOT_HERE;
  return {
    async listen() {
      if (!door) return;
      try {
        place = await door.listen();
        closedBecause = null;
      } catch (error) {
        const sentence = portFault(error, submission, 'SUBMISSION');
        if (sentence === undefined) throw error;
        if (submission.portIsWished) throw new StorageStartError(sentence);
        closedBecause = sentence;
        log.warn({ port: wanted }, `mail is not taken by SMTP: ${sentence}`);
      }
    },
    get port() {
      return place?.port;
    },
    get place() {
      return place;
    },
    settings: () => ({
      open: place !== undefined,
      closed_because: closedBecause,
      host: new URL(http.baseUrl).hostname,
      port: place?.port ?? null,
      user: 'postrider',
      starttls: door?.offersTls ?? false,
      plaintext: submission.allowPlaintext ? 'anywhere' : 'this_machine',
    }),
    renewCertificate: async () => door?.renewCertificate(),
    drain: async (limitMs) => {
      if (place) await door?.drain(limitMs);
    },
  };

  function openDoor(parts: SubmissionNeeds, ownPort: number): Promise<SubmissionDoor> {
    const shape = bodyValidator(SendMessage);
    return SubmissionDoor.open({
      clock: parts.clock,
      log,
      registry: parts.registry,
      acceptor: parts.acceptor,
      authenticator: parts.authenticator,
      rateLimiter: parts.rateLimiter,
      checkShape: (body) => shape.check(body),
      name: config.delivery.heloName,
      host: submission.host,
      port: ownPort,
      certificate: submission.tls,
      allowPlaintext: submission.allowPlaintext,
      connectionsMax: submission.connectionsMax,
      connectionsPerSource: submission.connectionsPerSource,
      messageBytesMax: limits.messageMaxBytes,
      recipientsMax: limits.recipientsMax,
      heldBytesMax: limits.acceptBufferMaxBytes,
      ...(parts.limits ? { limits: parts.limits } : {}),
    });
  }
}

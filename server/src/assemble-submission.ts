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
import { SmtpDoor } from './doors/smtp/smtp-door.ts';
import type { MessageAcceptor } from './messages/accept-message.ts';
import { StorageStartError } from './storage/start-error.ts';

/** The door for programs that speak SMTP: opened or not, as the configuration says. */
export interface Submission {
  /** Opens the port; the server goes on without it when the default port is taken. */
  listen(): Promise<void>;
  /** Undefined while it is closed. */
  readonly port: number | undefined;
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
  let port: number | undefined;
  let closedBecause: string | null = isHere ? OFF : NOT_HERE;
  return {
    async listen() {
      if (!door) return;
      try {
        port = await door.listen();
        closedBecause = null;
      } catch (error) {
        const sentence = sentenceOf(error, submission);
        if (sentence === undefined) throw error;
        if (submission.portIsWished) throw new StorageStartError(sentence);
        closedBecause = sentence;
        log.warn({ port: wanted }, `mail is not taken by SMTP: ${sentence}`);
      }
    },
    get port() {
      return port;
    },
    settings: () => ({
      open: port !== undefined,
      closed_because: closedBecause,
      host: new URL(http.baseUrl).hostname,
      port: port ?? null,
      user: 'postrider',
      starttls: door?.offersTls ?? false,
      plaintext: submission.allowPlaintext ? 'anywhere' : 'this_machine',
    }),
    renewCertificate: async () => door?.renewCertificate(),
    drain: async (limitMs) => {
      if (port !== undefined) await door?.drain(limitMs);
    },
  };

  function openDoor(parts: SubmissionNeeds, ownPort: number): Promise<SmtpDoor> {
    const shape = bodyValidator(SendMessage);
    return SmtpDoor.open({
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

/** Faults that the operator can mend; undefined for any other. */
function sentenceOf(error: unknown, { host, port }: Config['submission']): string | undefined {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `Another program listens on ${host}:${port}. Stop it, set SUBMISSION_PORT, or set it to off.`;
    case 'EACCES':
      return `This user may not listen on ${host}:${port}. Set SUBMISSION_PORT to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `SUBMISSION_HOST ${host} is not an address of this machine.`;
    default:
      return undefined;
  }
}

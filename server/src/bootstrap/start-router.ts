import type { Registry } from 'prom-client';
import { unknownSettings } from '../config/env.ts';
import { type Config, ConfigError } from '../config/read-config.ts';
import { StorageOutage } from '../db/connections/storage-outage.ts';
import { createRegistry } from '../http/observability/http-metrics.ts';
import { addProcessMetrics } from '../http/observability/node-metrics.ts';
import { createHttpListener, resolveListenAddresses } from '../http/server/http-listener.ts';
import { createLog, type Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/scheduling/periodic-tasks.ts';
import { type Clock, systemClock } from '../lib/time/clock.ts';
import { CellDirectory } from '../router/cell-directory.ts';
import { MailForwarder } from '../router/mail-forwarder.ts';
import { createRouterServer } from '../router/router-server.ts';
import { SubmissionForwarder } from '../router/submission-forwarder.ts';
import { VERSION } from '../version.ts';
import { buildReturnPath, type ReturnPath } from './build-return-path.ts';
import { buildSubmission } from './build-submission.ts';
import { startErrorMessage } from './start-errors.ts';
import { exitAfter, firstSignal } from './stop-signals.ts';

/** A router that listens. */
export interface RunningRouter {
  url: string;
  /** Undefined if mail is not accepted over SMTP. */
  submissionPort: number | undefined;
  /** Undefined if bounces, complaints and inbound mail are not received. */
  returnPathPort: number | undefined;
  stop(): Promise<void>;
}

/** Runs the router until a signal arrives; resolves with the exit code. */
export async function startRouter(config: Config): Promise<number> {
  const log = createLog({ level: config.log.level });
  for (const warning of unknownSettings()) log.warn(warning);
  const signal = firstSignal();
  let router: RunningRouter;
  try {
    router = await openRouter(config, log);
  } catch (error) {
    const message = startErrorMessage(error, config);
    if (message === undefined) throw error;
    console.error(message);
    return 1;
  }
  console.log(`Routing ${router.url} to ${config.router.cells.map(describeCell).join(', ')}`);
  log.info({ reason: await signal }, 'stopping');
  exitAfter(config.http, log);
  await router.stop();
  return 0;
}

export async function openRouter(config: Config, log: Log): Promise<RunningRouter> {
  const { host, port, baseUrl, requestTimeoutMs, shutdownDelayMs, drainMs } = config.http;
  const { cells, token } = config.router;
  if (cells.length === 0 || token === undefined) {
    throw new ConfigError(['ROUTER_CELLS and ROUTER_TOKEN: required by the router.']);
  }
  const registry = createRegistry();
  addProcessMetrics(registry, VERSION, {});
  const clock = systemClock;
  const directory = new CellDirectory({ cells, token, clock, log });
  let isReady = true;
  const listener = createHttpListener(
    createRouterServer({
      ...{ cells, directory, registry, baseUrl, requestTimeoutMs, clock, log },
      isReady: () => isReady,
    }),
  );
  const smtp = { directory, registry, clock, log };
  const submission = await openSubmission(config, smtp);
  const forwarder = new MailForwarder({ cells, directory, token, clock, log });
  const returnPath = await openReturnPath(config, forwarder, smtp);
  const url = await listener.listen(await resolveListenAddresses(host), port);
  for (const { cell, reason } of await directory.check()) {
    log.warn({ cell: cell.name, url: cell.url, reason }, 'a cell does not answer lookups');
  }
  return {
    url,
    submissionPort: submission?.port,
    returnPathPort: returnPath?.port,
    async stop() {
      isReady = false;
      await listener.discourage(shutdownDelayMs);
      await Promise.all([
        listener.drain(drainMs),
        submission?.drain(drainMs),
        returnPath?.drain(drainMs),
      ]);
    },
  };
}

interface SmtpContext {
  directory: CellDirectory;
  registry: Registry;
  clock: Clock;
  log: Log;
}

/** Only if a port was set: most installations have the router for HTTP. */
async function openSubmission(
  config: Config,
  { directory, registry, clock, log }: SmtpContext,
): Promise<SmtpPort | undefined> {
  const { portIsExplicit, tlsPort } = config.submission;
  if (!portIsExplicit && tlsPort === undefined) return undefined;
  const forwarder = new SubmissionForwarder({ directory, clock });
  const submission = await buildSubmission({
    config: { ...config, roles: new Set(['smtp']), limits: routedLimits(config) },
    clock,
    log,
    registry,
    outage: new StorageOutage({ clock, log }),
    mailAcceptor: forwarder,
    authenticator: forwarder,
    rateLimiter: undefined,
    localListeners: [],
  });
  await submission.listen();
  return withCertificate(submission, submission.port, { clock, log });
}

/** Only if a port was set, too. */
async function openReturnPath(
  config: Config,
  receiver: MailForwarder,
  { registry, clock, log }: SmtpContext,
): Promise<SmtpPort | undefined> {
  if (!config.returnPath.portIsExplicit || config.returnPath.port === undefined) return undefined;
  const returnPath = await buildReturnPath({
    config: { ...config, roles: new Set(['smtp']) },
    ...{ clock, log, registry, receiver },
    outage: new StorageOutage({ clock, log }),
    localListeners: [],
  });
  await returnPath.listen();
  return withCertificate(returnPath, returnPath.address?.port, { clock, log });
}

interface SmtpPort {
  port: number | undefined;
  drain(limitMs: number): Promise<void>;
}

/** Reloads the certificate of a listener when it was renewed. */
function withCertificate(
  listener: Pick<ReturnPath, 'renewCertificate' | 'drain'>,
  port: number | undefined,
  parts: { clock: Clock; log: Log },
): SmtpPort {
  const tasks = new PeriodicTasks(parts);
  tasks.schedule(CERTIFICATE_MS, 'reload certificate', () => listener.renewCertificate());
  return {
    port,
    async drain(limitMs) {
      await tasks.stop();
      await listener.drain(limitMs);
    },
  };
}

/** A message is passed on in the body of a request, in Base64. */
function routedLimits({ limits }: Config): Config['limits'] {
  const inBody = Math.floor(((limits.requestBodyMaxBytes - ENVELOPE_BYTES) * 3) / 4);
  return { ...limits, messageMaxBytes: Math.min(limits.messageMaxBytes, inBody) };
}

const CERTIFICATE_MS = 30_000;
/** For the recipients. */
const ENVELOPE_BYTES = 64 * 1024;

function describeCell({ name, url }: Config['router']['cells'][number]): string {
  return `${name} (${url})`;
}

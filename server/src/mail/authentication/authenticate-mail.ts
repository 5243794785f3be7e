import { isIP } from 'node:net';
import { TaskThread } from '../../lib/threads/task-thread.ts';
import { type Clock, pause } from '../../lib/time/clock.ts';
import type { Resolver } from '../dns/resolver.ts';
import { isSmall } from '../mime/mail-parser.ts';
import { malformedMail } from '../mime/parse-mail.ts';
import {
  type AuthenticationResults,
  DKIM_RESULTS,
  DMARC_POLICIES,
  DMARC_RESULTS,
  SPF_RESULTS,
} from './authentication-results.ts';
import { readDkimKeyNames } from './dkim-signatures.ts';
import {
  type DnsErrorCode,
  isShort,
  type MailauthResolver,
  mailauthResolver,
} from './mailauth-resolver.ts';
import type { DkimTask, DkimVerification } from './verify-dkim.ts';

/**
 * Checks SPF (RFC 7208), DKIM (RFC 6376) and DMARC of a mail that arrives. It never throws and never
 * takes longer than a limit: what is not known by then is a `temperror`. Those who send mail choose the
 * names that are looked up, so the caller passes a resolver with a share for each receiver of mail. Large
 * mail is verified in a worker thread, as it is parsed.
 *
 * The library is loaded with the first mail, because most servers receive none.
 */

export interface MailToAuthenticate {
  /** As it arrived. */
  data: Buffer;
  mailFrom: string;
  client: { ip: string; helo: string };
  /** The addresses of each From header. */
  from: readonly (readonly string[])[];
}

const TIME_MAX_MS = 5_000;
const THREAD_MEMORY_MB = 256;
/** More authors than any mail has. Each of their domains is a name to look up. */
const AUTHORS_MAX = 100;
const SPF_UNKNOWN = { result: 'temperror', domain: null } as const;

export class MailAuthenticator {
  readonly #clock: Clock;
  readonly #thread: TaskThread<DkimTask, DkimVerification[]>;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
    this.#thread = new TaskThread({
      clock,
      memoryMb: THREAD_MEMORY_MB,
      entry: new URL('./dkim-worker.ts', import.meta.url),
      label: 'Verifying the signatures',
      tooComplex: () => malformedMail('The message is too complex to verify.'),
    });
  }

  /** Mail with different queue keys is verified round-robin. */
  async authenticate(
    queueKey: string,
    mail: MailToAuthenticate,
    resolver: Resolver,
  ): Promise<AuthenticationResults> {
    const done = new AbortController();
    const timeUp = pause(this.#clock, TIME_MAX_MS, done.signal);
    const inTime = <T>(check: Promise<T>, otherwise: T): Promise<T> =>
      Promise.race([check.catch(() => otherwise), timeUp.then(() => otherwise)]);
    const dns = mailauthResolver(resolver);
    const [spf, dkim] = await Promise.all([
      inTime(checkSpf(mail, dns), SPF_UNKNOWN),
      inTime(this.#verifyDkim(queueKey, mail, resolver, done.signal), undefined),
    ]);
    const dmarc = await inTime(checkDmarc(mail, { spf, dkim }, dns), {
      result: 'temperror',
      policy: null,
      domain: null,
    });
    done.abort();
    const unknown = readDkimKeyNames(mail.data).map((name) => ({
      ...name,
      result: 'temperror' as const,
    }));
    return { spf, dkim: dkim?.map(toDkimResult) ?? unknown, dmarc };
  }

  async stop(): Promise<void> {
    await this.#thread.stop();
  }

  async #verifyDkim(
    queueKey: string,
    { data }: MailToAuthenticate,
    resolver: Resolver,
    signal: AbortSignal,
  ): Promise<DkimVerification[]> {
    const names = readDkimKeyNames(data);
    if (names.length === 0) return [];
    const keys = await readKeys(
      names.map(({ domain, selector }) => `${selector}._domainkey.${domain}`.toLowerCase()),
      resolver,
    );
    const task = { data, keys, nowMs: this.#clock.now() };
    if (!isSmall(data)) return this.#thread.run(queueKey, task, signal);
    const { verifyDkim } = await import('./verify-dkim.ts');
    return verifyDkim(task);
  }
}

async function readKeys(names: readonly string[], resolver: Resolver): Promise<DkimTask['keys']> {
  const entries = [...new Set(names)].map(async (name) => {
    const answer = await resolver.lookup('TXT', name);
    const found =
      answer.kind === 'found' ? answer.records.filter(isShort) : DNS_ERRORS[answer.kind];
    return [name, found] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

const DNS_ERRORS: Record<'nodata' | 'nxdomain' | 'failed', DnsErrorCode> = {
  nodata: 'ENODATA',
  nxdomain: 'ENOTFOUND',
  failed: 'ESERVFAIL',
};

async function checkSpf(
  { mailFrom, client }: MailToAuthenticate,
  resolver: MailauthResolver,
): Promise<AuthenticationResults['spf']> {
  if (isIP(client.ip) === 0) return { result: 'none', domain: null };
  const { spf } = await import('mailauth/lib/spf/index.js');
  // RFC 7208 section 2.4: a null sender is checked as postmaster at the name in HELO.
  const sender = mailFrom === '' ? `postmaster@${client.helo}` : mailFrom;
  const { status, domain } = await spf({
    sender,
    ip: client.ip,
    helo: client.helo,
    mta: 'postrider',
    resolver,
  } as Parameters<typeof spf>[0]);
  return { result: oneOf(SPF_RESULTS, status.result, 'none'), domain: domain || null };
}

function toDkimResult({ result, domain, selector }: DkimVerification) {
  return { result: oneOf(DKIM_RESULTS, result, 'permerror'), domain, selector };
}

async function checkDmarc(
  { from }: MailToAuthenticate,
  { spf, dkim }: { spf: AuthenticationResults['spf']; dkim: DkimVerification[] | undefined },
  resolver: MailauthResolver,
): Promise<AuthenticationResults['dmarc']> {
  if (from.flat().length > AUTHORS_MAX) return { result: 'permerror', policy: null, domain: null };
  const { dmarc } = await import('mailauth/lib/dmarc/index.js');
  const found = await dmarc({
    headerFrom: from.flat(),
    fromFields: from.length,
    spfDomains: spf.result === 'pass' && spf.domain !== null ? [spf.domain] : [],
    dkimDomains: (dkim ?? []).flatMap(({ result, domain, underSized }) =>
      result === 'pass' && domain !== null ? [{ domain, underSized }] : [],
    ),
    resolver,
  } as Parameters<typeof dmarc>[0]);
  // Without exactly one author domain, there is no policy to apply (RFC 9989 section 5.3.1).
  if (!found)
    return { result: from.flat().length > 1 ? 'permerror' : 'none', policy: null, domain: null };
  const result = oneOf(DMARC_RESULTS, found.status.result, 'none');
  const isUncertain = result === 'fail' && (dkim === undefined || spf.result === 'temperror');
  return {
    result: isUncertain ? 'temperror' : result,
    policy: DMARC_POLICIES.find((policy) => policy === found.policy) ?? null,
    domain: found.status.header?.from?.toLowerCase() ?? null,
  };
}

function oneOf<T extends string>(values: readonly T[], value: string, otherwise: T): T {
  return values.find((one) => one === value) ?? otherwise;
}

import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type {
  AccessProvider,
  ProviderAccess,
} from '../accounts/people/single-sign-on/identity-provider.ts';
import { type TargetGuard, TargetRefusedError } from '../webhooks/requests/target-guard.ts';
import { hostOf, parseTarget, type TargetRules } from '../webhooks/requests/target-url.ts';

/**
 * Sends requests to identity providers. The owners of a workspace choose the host of theirs, and our
 * server connects to it, so everything that protects webhooks applies: the spelling of the URL, the
 * ports, and the addresses that a name resolves to. Redirects are not followed, and the time and the
 * size of a response are limited. The operator chooses the provider of the server, which may be in a
 * private network.
 */
export function createProviderAccess(targets: {
  guard: TargetGuard;
  rules: TargetRules;
}): AccessProvider {
  const chosenByWorkspace: ProviderAccess = {
    fetch: (url, options) => guardedFetch(targets, url, options),
    allowsHttp: targets.rules.allowPrivate,
  };
  const chosenByOperator: ProviderAccess = {
    fetch: (url, options) => fetch(url, options as unknown as RequestInit),
    allowsHttp: true,
  };
  return (managedBy) => (managedBy === 'server' ? chosenByOperator : chosenByWorkspace);
}

type FetchOptions = Parameters<ProviderAccess['fetch']>[1];

const RESPONSE_BYTES_MAX = 1024 * 1024;
const DEADLINE_MS = 10_000;

async function guardedFetch(
  { guard, rules }: { guard: TargetGuard; rules: TargetRules },
  text: string,
  { method, headers, body, signal: given }: FetchOptions,
): Promise<Response> {
  const target = parseTarget(text, 'live', rules);
  if (!target.ok) throw new TypeError(target.detail);
  const host = hostOf(target.url);
  if (isIP(host) !== 0 && !guard.allowed(host)) {
    throw new TypeError('refused', { cause: new TargetRefusedError(host) });
  }
  const bytes = toBytes(body);
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const signal = given ? AbortSignal.any([given, deadline]) : deadline;
  return new Promise((resolve, reject) => {
    const options = { method, headers, lookup: guard.lookup, agent: false, signal } as const;
    const request = (target.url.protocol === 'https:' ? https : http).request(target.url, options);
    // A TypeError, as of the Fetch API: the provider cannot be reached.
    const fail = (error: Error): void => {
      request.destroy();
      reject(new TypeError('The identity provider cannot be reached.', { cause: error }));
    };
    request.on('error', fail);
    request.on('upgrade', () => fail(new Error('unexpected upgrade')));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > RESPONSE_BYTES_MAX) fail(new Error('the response is too large'));
        else chunks.push(chunk);
      });
      response.on('error', fail);
      response.on('end', () => {
        if (response.complete) resolve(toResponse(response, Buffer.concat(chunks)));
        else fail(new Error('the response is incomplete'));
      });
    });
    request.end(bytes);
  });
}

/** The client sends forms only. */
function toBytes(body: FetchOptions['body']): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('unexpected body');
}

/** Statuses whose responses cannot have a body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

function toResponse({ statusCode = 0, headers }: http.IncomingMessage, body: Buffer): Response {
  const status = statusCode >= 200 && statusCode <= 599 ? statusCode : 502;
  const fields = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [value].flat().map((one) => [name, one]),
  );
  return new Response(WITHOUT_BODY.has(status) ? null : new Uint8Array(body), {
    status,
    headers: fields,
  });
}

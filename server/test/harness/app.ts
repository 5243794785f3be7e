import { operatorIssuer } from '../../src/accounts/api-keys.ts';
import type { Scope } from '../../src/accounts/scopes.ts';
import type { Mode } from '../../src/accounts/tenant-scope.ts';
import { type App, type AppOverrides, buildApp } from '../../src/bootstrap/build-app.ts';
import { readConfig } from '../../src/config/read-config.ts';
import type { Transport } from '../../src/delivery/delivery.ts';
import { type Log, silentLog } from '../../src/lib/log.ts';
import type { Clock } from '../../src/lib/time/clock.ts';
import { createTestDatabase, type TestDatabase } from './database/database.ts';
import { nextDkimKeys } from './delivery/dkim-keys.ts';
import { recordResponse } from './http/response-log.ts';
import { createResponseCheck, type ResponseCheck } from './http/response-schemas.ts';

/**
 * The whole server in this process, on a real socket, with its own database. `call` validates every
 * response against the OpenAPI document and records it for the comparison at the end of the run.
 */
export interface TestApp extends AsyncDisposable {
  app: App;
  url: string;
  database: TestDatabase;
  workspaceId: string;
  /** A test key and a live key with all scopes. */
  testKey: string;
  liveKey: string;
  newKey(options: NewKeyOptions): Promise<string>;
  call(method: string, path: string, options?: RequestOptions): Promise<TestResponse>;
}

export interface NewKeyOptions {
  mode?: Mode;
  scopes?: Scope[];
  workspaceId?: string;
  allowedDomains?: string[];
  allowedIps?: string[];
  allowedStreams?: string[];
}

export interface RequestOptions {
  /**
   * By default the test key, or the live key for what test keys cannot do: change domains and streams,
   * and publish or delete templates, layouts and partials. Null sends no key.
   */
  key?: string | null;
  body?: unknown;
  /** Sent unchanged instead of `body`. */
  rawBody?: string | Buffer;
  headers?: Record<string, string>;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON body, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
  json: any;
  text: string;
}

export interface TestAppOptions {
  env?: Record<string, string>;
  clock?: Clock;
  liveRoute?: Transport;
  database?: TestDatabase;
  log?: Log;
  generateDkimKeys?: AppOverrides['generateDkimKeys'];
  webhooks?: AppOverrides['webhooks'];
  streams?: AppOverrides['streams'];
  submission?: AppOverrides['submission'];
  returnPath?: AppOverrides['returnPath'];
  inbound?: AppOverrides['inbound'];
}

/** Cheap hashing, so that a run can create hundreds of people. */
export const PASSWORD_COST = { ln: 4, r: 1, p: 1 };

export async function startApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = options.database ?? (await createTestDatabase());
  const config = readConfig({
    PORT: '0',
    SUBMISSION_PORT: 'off',
    RETURN_PATH_PORT: 'off',
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key for tests, long enough to be one',
    ALLOW_UNSAFE_DATABASE: 'true',
    RATE_LIMIT_PER_SECOND: '100000',
    // Clocks and routes of tests exist only in this thread.
    DELIVERY_THREAD: 'off',
    BASE_URL: 'http://postrider.test',
    ...options.env,
  });
  const { liveRoute } = options;
  const app = await buildApp({
    config,
    log: options.log ?? silentLog,
    ...(options.clock ? { clock: options.clock } : {}),
    overrides: {
      passwordCost: PASSWORD_COST,
      generateDkimKeys: options.generateDkimKeys ?? nextDkimKeys,
      delivery: { liveTransport: liveRoute && (() => liveRoute) },
      webhooks: options.webhooks,
      streams: options.streams,
      submission: options.submission,
      returnPath: options.returnPath,
      inbound: options.inbound,
    },
  });
  const workspace = (await app.workspaces.first()) ?? (await app.workspaces.create('Test'));
  const newKey = async (wanted: NewKeyOptions): Promise<string> => {
    const made = await app.apiKeys.create(operatorIssuer(wanted.workspaceId ?? workspace.id), {
      name: 'A key',
      mode: wanted.mode ?? 'test',
      ...(wanted.scopes ? { scopes: wanted.scopes } : {}),
      ...(wanted.allowedDomains ? { allowed_domains: wanted.allowedDomains } : {}),
      ...(wanted.allowedIps ? { allowed_ips: wanted.allowedIps } : {}),
      ...(wanted.allowedStreams ? { allowed_streams: wanted.allowedStreams } : {}),
    });
    return made.token;
  };
  const testKey = await newKey({ mode: 'test' });
  const liveKey = await newKey({ mode: 'live' });
  const check = config.roles.has('api') ? await createResponseCheck(app.address) : () => {};
  return {
    app,
    url: app.address,
    database,
    workspaceId: workspace.id,
    testKey,
    liveKey,
    newKey,
    call: (method, path, call = {}) => {
      const key = isLiveChange(method, path) ? liveKey : testKey;
      return request(app.address, key, check, method, path, call);
    },
    async [Symbol.asyncDispose]() {
      await app.stop();
      if (!options.database) await database[Symbol.asyncDispose]();
    },
  };
}

/** What test keys cannot do. */
function isLiveChange(method: string, fullPath: string): boolean {
  const path = fullPath.replace(/^\/api\/v1/, '');
  if (path.startsWith('/domains') || path.startsWith('/streams/')) return method !== 'GET';
  if (!/^\/(templates|layouts|partials)\//.test(path)) return false;
  return method === 'DELETE' || /\/publish(\?|$)/.test(path);
}

async function request(
  base: string,
  defaultKey: string,
  check: ResponseCheck,
  method: string,
  path: string,
  { key, body, rawBody, headers = {} }: RequestOptions,
): Promise<TestResponse> {
  const url = path.startsWith('/api/') || !path.startsWith('/') ? path : `/api/v1${path}`;
  const bearer = key === undefined ? defaultKey : key;
  const response = await fetch(`${base}${url}`, {
    method,
    headers: {
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined && rawBody === undefined
        ? {}
        : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(rawBody !== undefined ? { body: rawBody } : {}),
    ...(body !== undefined ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  const json = isJson && text !== '' ? JSON.parse(text) : undefined;
  recordResponse(method, url, response, json);
  check(method, url, response.status, json);
  return { status: response.status, headers: response.headers, json, text };
}

/** A valid message, with changes for what a test is about. */
export function validMessage(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    to: { email: 'jane@example.com' },
    from: { email: 'hello@example.org', name: 'Example' },
    subject: 'Hello',
    html: '<p>Hello!</p>',
    ...changes,
  };
}

import { insertMembership } from '../../../src/accounts/people/member-store.ts';
import { Passwords } from '../../../src/accounts/people/passwords.ts';
import { insertPerson, newPerson, type Person } from '../../../src/accounts/people/person-store.ts';
import type { Role } from '../../../src/accounts/roles.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { PASSWORD_COST, type RequestOptions, type TestApp, type TestResponse } from '../app.ts';

/**
 * An HTTP client with a dashboard session: keeps the cookie that the server sets, and sends the
 * headers that the dashboard sends.
 */
export class SessionClient {
  cookie: string | undefined;
  workspace: string | undefined;
  mode: 'live' | 'test' = 'test';
  /** Sent with every request; undefined removes a default header. */
  headers: Record<string, string | undefined> = {};
  readonly #app: TestApp;

  constructor(app: TestApp) {
    this.#app = app;
  }

  async call(method: string, path: string, options: RequestOptions = {}): Promise<TestResponse> {
    const headers = Object.entries({
      cookie: this.cookie,
      'postrider-mode': this.mode,
      'postrider-workspace': this.workspace,
      ...this.headers,
      ...options.headers,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '');
    const answer = await this.#app.call(method, path, {
      key: null,
      ...options,
      headers: Object.fromEntries(headers),
    });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    return answer;
  }

  signIn(email: string, password = PASSWORD): Promise<TestResponse> {
    return this.call('POST', '/session', { body: { email, password } });
  }

  #keep(line: string): void {
    const [pair = '', ...rules] = line.split('; ');
    this.cookie = rules.includes('Max-Age=0') ? undefined : pair;
  }
}

export const PASSWORD = 'tulip freight oboe';

const passwordHash = await new Passwords(PASSWORD_COST).hash(PASSWORD);

export interface TestPerson extends Person {
  /** usr_… */
  publicId: string;
}

/** Creates an account, and a membership if a role is given (in the app's workspace by default). */
export async function createPerson(
  app: TestApp,
  email: string,
  role?: Role,
  workspaceId = app.workspaceId,
  isVerified = true,
): Promise<TestPerson> {
  const { pool } = app.app.storage;
  const nowMs = Date.now();
  const name = email.split('@')[0] as string;
  const emailVerifiedAtMs = isVerified ? nowMs : null;
  const fields = { email, emailKey: email.toLowerCase(), name, passwordHash, emailVerifiedAtMs };
  const person = newPerson(fields, nowMs);
  await insertPerson(pool, person);
  if (role) {
    await insertMembership(pool, { workspaceId, personId: person.id, role, createdAtMs: nowMs });
  }
  return { ...person, publicId: encodeId('usr', person.id) };
}

/** A client with a session in the workspace. */
export async function signInAs(
  app: TestApp,
  person: Person,
  workspaceId = app.workspaceId,
): Promise<SessionClient> {
  const visitor = new SessionClient(app);
  const client = { ip: '127.0.0.1', userAgent: 'a test' };
  const { token } = await app.app.people.sessions.start(person, client, undefined);
  visitor.cookie = `postrider_session=${token}`;
  visitor.workspace = encodeId('wsp', workspaceId);
  return visitor;
}

export async function member(app: TestApp, role: Role, email = `${role}@people.example`) {
  const person = await createPerson(app, email, role);
  return { person, visitor: await signInAs(app, person) };
}

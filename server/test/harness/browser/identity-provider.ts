import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import Provider from 'oidc-provider';
import { freePort } from '../free-port.ts';

/**
 * A real OpenID Connect provider (oidc-provider) on a loopback port. Everyone who signs in is `user`,
 * without a password. `changeIdToken` changes what an ID token says, with a right signature;
 * `forgeSignature` signs it with another key.
 */
export interface TestProvider extends AsyncDisposable {
  issuer: string;
  user: TestUser;
  /** The error with which it answers instead of signing in. */
  refusal: string | undefined;
  changeIdToken: ((claims: Record<string, unknown>) => Record<string, unknown>) | undefined;
  forgeSignature: boolean;
  /** How often its metadata was read. */
  discoveries: number;
  /** How many of its sessions have ended. */
  signOuts: number;
  /** Whether its metadata names a sign-out page. */
  hasSignOut: boolean;
}

export interface TestUser {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: string[];
}

export const CLIENT_ID = 'postrider';
export const CLIENT_SECRET = 'a client secret that only the two know';

const SCOPES = 'openid email profile groups';
const KEY_ID = 'test';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

export async function startIdentityProvider(redirectUris: string[]): Promise<TestProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const users = new Map<string, TestUser>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: KEY_ID }] },
    cookies: { keys: ['a key for the cookies of the provider'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    features: {
      devInteractions: { enabled: false },
      // Signs out without a question, as most providers do for a valid ID token.
      rpInitiatedLogout: {
        logoutSource(context: { body: unknown }, form: string) {
          context.body = `<html>${form}<script>
            const [form] = document.forms;
            form.append(Object.assign(document.createElement('input'), { name: 'logout', value: 'yes' }));
            form.submit();
          </script></html>`;
        },
      },
    },
    interactions: {
      url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}`,
    },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ ...(self.user.sub === id ? self.user : users.get(id)), sub: id }),
    }),
    async loadExistingGrant({ oidc }: import('oidc-provider').Context) {
      const { clientId } = oidc.client;
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
  });
  const self: TestProvider = {
    issuer,
    user: { sub: 'unset' },
    refusal: undefined,
    changeIdToken: undefined,
    forgeSignature: false,
    discoveries: 0,
    signOuts: 0,
    hasSignOut: true,
    [Symbol.asyncDispose]: () => close(server),
  };
  provider.use(async (context, next) => {
    await next();
    if (context.path.startsWith('/.well-known/') && !self.hasSignOut) {
      delete (context.body as { end_session_endpoint?: string }).end_session_endpoint;
    }
    const token = context.path === '/token' ? context.body?.id_token : undefined;
    if (token === undefined || !context.body) return;
    const [header = '', payload = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const changed = self.changeIdToken?.(claims) ?? claims;
    const body = `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}`;
    const key = self.forgeSignature ? otherKey : privateKey;
    const signature = createSign('RSA-SHA256').update(body).sign(key, 'base64url');
    context.body.id_token = `${body}.${signature}`;
  });
  provider.on('end_session.success', () => {
    self.signOuts += 1;
  });
  const callback = provider.callback();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/.well-known/')) self.discoveries += 1;
    if (!request.url?.startsWith('/interaction/')) return void callback(request, response);
    users.set(self.user.sub, { ...self.user });
    const result = self.refusal
      ? { error: self.refusal, error_description: 'An error that the test requested.' }
      : { login: { accountId: self.user.sub } };
    const options = { mergeWithLastSubmission: false };
    void provider.interactionFinished(request, response, result, options);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return self;
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

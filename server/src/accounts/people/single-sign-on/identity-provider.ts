import * as openid from 'openid-client';
import { WeightedCache } from '../../../lib/memory/weighted-cache.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { type Claims, toClaims } from './claims.ts';
import { CALLBACK_PATH, type Connection, callbackId } from './connection.ts';
import type { PendingValues } from './pending-sign-in.ts';
import { SignInFailure } from './sign-in-failure.ts';

/**
 * Speaks OpenID Connect with the provider of a connection: the authorization code flow with PKCE. The
 * response must have the state and nonce of the pending sign-in, and the ID token a valid signature, our
 * client as its audience, and a time that includes now.
 */

/** Sends requests to a provider. A workspace chooses its host, so it must not reach private networks. */
export interface ProviderAccess {
  fetch(url: string, options: openid.CustomFetchOptions): Promise<Response>;
  /** Whether plain HTTP is allowed. */
  allowsHttp: boolean;
}

export type AccessProvider = (managedBy: Connection['managedBy']) => ProviderAccess;

type ProviderConnection = Pick<
  Connection,
  'workspaceId' | 'managedBy' | 'issuer' | 'clientId' | 'clientSecret' | 'groupsClaim'
>;

const SCOPE = 'openid email profile';
const TIMEOUT_SECONDS = 10;

/**
 * How long the metadata and keys of a provider are used again. Anyone can start a sign-in, and must not be
 * able to make us send a provider as many requests; one that rotates its keys is known after a minute.
 */
const METADATA_MS = 60_000;
const PROVIDERS_CACHED_MAX = 200;

interface Discovered {
  config: Promise<openid.Configuration>;
  endsAtMs: number;
}

export class IdentityProviders {
  readonly #parts: { clock: Clock; access: AccessProvider; appUrl: string };
  readonly #discovered = new WeightedCache<Discovered>(PROVIDERS_CACHED_MAX);

  constructor(parts: { clock: Clock; access: AccessProvider; appUrl: string }) {
    this.#parts = parts;
  }

  /** Providers have it in a list of allowed URLs. */
  redirectUri(connection: Pick<Connection, 'workspaceId' | 'managedBy'>): string {
    const id = callbackId(connection);
    return `${this.#parts.appUrl}${CALLBACK_PATH}${id === undefined ? '' : `/${id}`}`;
  }

  /** Reads the metadata again. Throws a SignInFailure if the provider cannot be used. */
  async check(connection: ProviderConnection): Promise<void> {
    await this.#discover(connection);
  }

  /** Where the browser goes to sign in. */
  async authorizationUrl(connection: ProviderConnection, values: PendingValues): Promise<URL> {
    const config = await this.#configuration(connection);
    return openid.buildAuthorizationUrl(config, {
      redirect_uri: this.redirectUri(connection),
      response_type: 'code',
      scope: this.#scopeFor(connection, config),
      state: values.state,
      nonce: values.nonce,
      code_challenge: values.codeChallenge,
      code_challenge_method: 'S256',
    });
  }

  /**
   * Where the browser goes to sign out of the provider (OpenID Connect RP-Initiated Logout 1.0); undefined if
   * the provider has no such page. It sends the browser back to the redirect URI, because many providers
   * allow that one without further configuration.
   */
  async signOutUrl(
    connection: ProviderConnection,
    idToken: string | undefined,
  ): Promise<URL | undefined> {
    const config = await this.#configuration(connection);
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
    const url = openid.buildEndSessionUrl(config, {
      post_logout_redirect_uri: this.redirectUri(connection),
      ...(idToken === undefined ? {} : { id_token_hint: idToken }),
    });
    // The browser follows it, so it must not be a script.
    const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
    return isWeb ? url : undefined;
  }

  /**
   * Exchanges the response of the provider for what it says about the person, and the ID token that says
   * it.
   */
  async claims(
    connection: ProviderConnection,
    values: PendingValues,
    response: URLSearchParams,
  ): Promise<Claims & { idToken: string | undefined }> {
    const config = await this.#configuration(connection);
    const url = new URL(this.redirectUri(connection));
    url.search = response.toString();
    try {
      const tokens = await openid.authorizationCodeGrant(config, url, {
        expectedState: values.state,
        expectedNonce: values.nonce,
        pkceCodeVerifier: values.codeVerifier,
        idTokenExpected: true,
      });
      const idToken = tokens.claims();
      if (!idToken) throw new SignInFailure('invalid_response');
      const needed = [connection.groupsClaim, 'email', 'email_verified'];
      const isComplete = needed.every((name) => idToken[name] !== undefined);
      const more =
        isComplete || config.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await openid.fetchUserInfo(config, tokens.access_token, idToken.sub);
      return { ...toClaims(idToken, more, connection.groupsClaim), idToken: tokens.id_token };
    } catch (error) {
      throw toFailure(error);
    }
  }

  /** Providers that list a scope for groups release them only if it is requested. */
  #scopeFor({ groupsClaim }: ProviderConnection, config: openid.Configuration): string {
    const { scopes_supported: supported = [] } = config.serverMetadata();
    return supported.includes(groupsClaim) ? `${SCOPE} ${groupsClaim}` : SCOPE;
  }

  /** Concurrent sign-ins share a request. */
  #configuration(connection: ProviderConnection): Promise<openid.Configuration> {
    const { workspaceId, managedBy, issuer, clientId, clientSecret } = connection;
    const key = JSON.stringify([workspaceId, managedBy, issuer, clientId, clientSecret]);
    const nowMs = this.#parts.clock.now();
    const known = this.#discovered.get(key);
    if (known && known.endsAtMs > nowMs) return known.config;
    const discovered = { config: this.#discover(connection), endsAtMs: nowMs + METADATA_MS };
    this.#discovered.set(key, discovered, 1);
    // The next sign-in tries again.
    discovered.config.catch(() => {
      discovered.endsAtMs = 0;
    });
    return discovered.config;
  }

  async #discover(connection: ProviderConnection): Promise<openid.Configuration> {
    const { clock, access } = this.#parts;
    const { fetch, allowsHttp } = access(connection.managedBy);
    // A provider with an https issuer must not lead us to plain HTTP.
    const isHttp = allowsHttp && new URL(connection.issuer).protocol === 'http:';
    const skewSeconds = Math.round((clock.now() - Date.now()) / 1000);
    try {
      return await openid.discovery(
        new URL(connection.issuer),
        connection.clientId,
        { [openid.clockSkew]: skewSeconds },
        clientAuthentication(connection.clientSecret),
        {
          [openid.customFetch]: fetch,
          timeout: TIMEOUT_SECONDS,
          execute: [
            // Otherwise TLS alone would vouch for the ID token.
            openid.enableNonRepudiationChecks,
            ...(isHttp ? [openid.allowInsecureRequests] : []),
          ],
        },
      );
    } catch (error) {
      throw new SignInFailure('provider_unreachable', { cause: error });
    }
  }
}

/** OpenID Connect Discovery 1.0 section 3: a provider that lists no method supports basic. */
function clientAuthentication(secret: string): openid.ClientAuth {
  const basic = openid.ClientSecretBasic(secret);
  const post = openid.ClientSecretPost(secret);
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic') ? basic : post;
    return authenticate(server, client, body, headers);
  };
}

function toFailure(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error;
  if (error instanceof openid.AuthorizationResponseError) {
    const reason = error.error === 'access_denied' ? 'cancelled' : 'provider_error';
    return new SignInFailure(reason, { cause: error });
  }
  if (error instanceof openid.ResponseBodyError) {
    return new SignInFailure('provider_error', { cause: error });
  }
  const { code } = error as { code?: unknown };
  const isNetwork = code === 'OAUTH_TIMEOUT' || (error instanceof TypeError && code === undefined);
  return new SignInFailure(isNetwork ? 'provider_unreachable' : 'invalid_response', {
    cause: error,
  });
}

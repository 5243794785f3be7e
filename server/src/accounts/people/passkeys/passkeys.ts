import { isIP } from 'node:net';
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { inTransaction } from '../../../db/connections/pool.ts';
import { encodeId, uuidBytes, uuidv7 } from '../../../lib/ids.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { AccountMailer } from '../account-mailer.ts';
import { deleteTokens, findPersonOfToken, insertToken } from '../one-time-token-store.ts';
import {
  type Reauthentication,
  type ReauthenticationParts,
  reauthenticate,
} from '../reauthenticate.ts';
import { hashSecret, newSecret } from '../secret-token.ts';
import type { ClientInfo, NewSession, Sessions, SignedInPerson } from '../sessions.ts';
import { markSignInUsed } from '../single-sign-on/identity-store.ts';
import { passkeyAddedEmail } from '../system-emails.ts';
import {
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type Passkey,
  recordUse,
  renamePasskey,
} from './passkey-store.ts';
import { CHALLENGE_MS, type SignInChallenges } from './sign-in-challenge.ts';

/**
 * Passkeys (WebAuthn): credentials on a device or in a password manager, with which people sign in
 * without a password or a code. The authenticator must have verified the person, so a passkey is two
 * factors. To add one requires the password, because it outlives the session. Each challenge is used
 * once and for five minutes, and responses from another origin or of a copied key are refused.
 */

const NAME = 'Postrider';
export const PASSKEYS_MAX = 20;

/**
 * COSE algorithms, best first: EdDSA, ES256, RS256. Every supported version of Node can verify them on
 * every node, which is not yet true of ML-DSA.
 */
const ALGORITHMS = [-8, -7, -257];

/** Loaded on first use: most processes never need its ASN.1 and attestation parsers. */
const loadWebAuthn = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

interface PasskeysParts extends ReauthenticationParts {
  clock: Clock;
  sessions: Sessions;
  mailer: AccountMailer;
  challenges: SignInChallenges;
  appUrl: string;
}

export class Passkeys {
  readonly #parts: PasskeysParts;
  readonly #origin: string;
  /** The host name that credentials are bound to. */
  readonly #rpId: string;

  constructor(parts: PasskeysParts) {
    const { origin, hostname } = new URL(parts.appUrl);
    this.#parts = parts;
    this.#origin = origin;
    this.#rpId = hostname;
  }

  /** Browsers allow passkeys only for a host name, over TLS or on this machine. */
  get available(): boolean {
    const isAddress = isIP(this.#rpId.replace(/^\[|\]$/g, '')) !== 0;
    return !isAddress && (this.#origin.startsWith('https:') || this.#rpId === 'localhost');
  }

  async startRegistration(
    { person, session }: SignedInPerson,
    given: Reauthentication,
    client: ClientInfo,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    this.#requireAvailable();
    const { pool, clock } = this.#parts;
    await reauthenticate(this.#parts, person, given, client);
    const known = await listPasskeys(pool, person.id, { limit: PASSKEYS_MAX });
    if (known.length >= PASSKEYS_MAX) {
      throw new RefusedError('conflict', `You can have at most ${PASSKEYS_MAX} passkeys.`);
    }
    const challenge = newSecret();
    await insertToken(pool, {
      hash: registrationHash(session, challenge),
      personId: person.id,
      purpose: 'passkey',
      endsAtMs: clock.now() + CHALLENGE_MS,
    });
    const { generateRegistrationOptions } = await loadWebAuthn();
    return generateRegistrationOptions({
      rpName: NAME,
      rpID: this.#rpId,
      userName: person.email,
      userDisplayName: person.name,
      userID: new Uint8Array(uuidBytes(person.id)),
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      timeout: CHALLENGE_MS,
      attestationType: 'none',
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: known.map(({ credentialId, transports }) => ({
        id: credentialId.toString('base64url'),
        transports: transports as AuthenticatorTransport[],
      })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  }

  async register(
    { person, session }: SignedInPerson,
    { name, credential }: { name: string; credential: RegistrationResponseJSON },
  ): Promise<Passkey> {
    this.#requireAvailable();
    const { pool, clock, mailer, appUrl } = this.#parts;
    const { challenge, registered } = await this.#verifyRegistration(credential);
    const nowMs = clock.now();
    const passkey: Passkey = {
      personId: person.id,
      id: uuidv7(nowMs),
      credentialId: Buffer.from(registered.credential.id, 'base64url'),
      publicKey: Buffer.from(registered.credential.publicKey),
      counter: registered.credential.counter,
      transports: registered.credential.transports ?? [],
      name,
      isBackedUp: registered.credentialBackedUp,
      createdAtMs: nowMs,
      usedAtMs: null,
    };
    await inTransaction(pool, async (db) => {
      const hash = registrationHash(session, challenge);
      const owner = await findPersonOfToken(db, hash, 'passkey', nowMs, 'for update');
      if (owner?.id !== person.id) throw challengeExpired();
      await deleteTokens(db, person.id, 'passkey');
      if (!(await insertPasskey(db, passkey))) {
        throw new RefusedError('conflict', 'This passkey is already registered.');
      }
    });
    mailer.inBackground('passkey added', () =>
      mailer.send(person, passkeyAddedEmail(person, name, `${appUrl}/app/settings`)),
    );
    return passkey;
  }

  list({ person }: SignedInPerson, page: { before?: string; limit: number }): Promise<Passkey[]> {
    return listPasskeys(this.#parts.pool, person.id, page);
  }

  async rename({ person }: SignedInPerson, id: string, name: string): Promise<Passkey> {
    const renamed = await renamePasskey(this.#parts.pool, person.id, id, name);
    if (!renamed) throw noPasskey();
    return renamed;
  }

  async remove({ person }: SignedInPerson, id: string): Promise<void> {
    if (!(await deletePasskey(this.#parts.pool, person.id, id))) throw noPasskey();
  }

  /** The browser offers the passkeys that it has for this host: no account is named. */
  async startSignIn(): Promise<PublicKeyCredentialRequestOptionsJSON> {
    this.#requireAvailable();
    const { clock, challenges } = this.#parts;
    const { generateAuthenticationOptions } = await loadWebAuthn();
    return generateAuthenticationOptions({
      rpID: this.#rpId,
      challenge: new Uint8Array(challenges.create(clock.now())),
      timeout: CHALLENGE_MS,
      userVerification: 'required',
    });
  }

  signIn(
    credential: AuthenticationResponseJSON,
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    this.#requireAvailable();
    return this.#parts.limits.limitBySource(client.ip, () =>
      this.#signIn(credential, client, presented),
    );
  }

  async #signIn(
    credential: AuthenticationResponseJSON,
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    const { pool, clock, sessions } = this.#parts;
    const found = await findPasskey(pool, Buffer.from(credential.id, 'base64url'));
    if (!found) throw refused();
    const { passkey, person } = found;
    // Part of every response of a discoverable credential: it names the account.
    const userHandle = uuidBytes(person.id).toString('base64url');
    if (credential.response.userHandle !== userHandle) throw refused();
    const { challenge, endsAtMs, counter, isBackedUp } = await this.#verify(credential, passkey);
    return inTransaction(pool, async (db) => {
      if (!(await markSignInUsed(db, hashSecret(challenge), endsAtMs))) throw challengeExpired();
      const use = { counter, isBackedUp, atMs: clock.now() };
      if (!(await recordUse(db, passkey, use))) throw refused();
      return sessions.start(person, client, presented, db);
    });
  }

  async #verify(credential: AuthenticationResponseJSON, passkey: Passkey) {
    const { clock, challenges } = this.#parts;
    let challenge = '';
    let endsAtMs: number | undefined;
    const { verifyAuthenticationResponse } = await loadWebAuthn();
    const result = await verifyAuthenticationResponse({
      response: credential,
      expectedChallenge: (given) => {
        challenge = given;
        endsAtMs = challenges.endOf(Buffer.from(given, 'base64url'), clock.now());
        return endsAtMs !== undefined;
      },
      expectedOrigin: this.#origin,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId.toString('base64url'),
        publicKey: new Uint8Array(passkey.publicKey),
        counter: passkey.counter,
        transports: passkey.transports as AuthenticatorTransport[],
      },
    }).catch(() => undefined);
    if (endsAtMs === undefined && challenge !== '') throw challengeExpired();
    if (!result?.verified || endsAtMs === undefined) throw refused();
    const { newCounter, credentialBackedUp } = result.authenticationInfo;
    return { challenge, endsAtMs, counter: newCounter, isBackedUp: credentialBackedUp };
  }

  /** The challenge is checked by the caller, with the row that stores it. */
  async #verifyRegistration(credential: RegistrationResponseJSON) {
    let challenge = '';
    const { verifyRegistrationResponse } = await loadWebAuthn();
    const verify = async () =>
      verifyRegistrationResponse({
        response: await withoutAttestation(credential),
        expectedChallenge: (given) => {
          challenge = given;
          return true;
        },
        expectedOrigin: this.#origin,
        expectedRPID: this.#rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      });
    const result = await verify().catch(() => undefined);
    if (!result?.verified || !result.registrationInfo) throw refused();
    return { challenge, registered: result.registrationInfo };
  }

  #requireAvailable(): void {
    if (this.available) return;
    throw new RefusedError(
      'conflict',
      'Passkeys need a BASE_URL that starts with https and has a host name.',
    );
  }
}

/**
 * What an authenticator says about its maker is not requested and not used, so it is dropped. To verify
 * it, the library would download revocation lists from URLs in certificates that the browser sent.
 */
async function withoutAttestation(
  credential: RegistrationResponseJSON,
): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await loadHelpers();
  const { response } = credential;
  const given = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const kept = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', given.get('authData')],
  ]);
  const attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(kept));
  return { ...credential, response: { ...response, attestationObject } };
}

/** A challenge for a new passkey is valid in the session that requested it. */
function registrationHash({ id }: SignedInPerson['session'], challenge: string): Buffer {
  return hashSecret(`${id} ${challenge}`);
}

function refused(): RefusedError {
  return new RefusedError('invalid_credentials', 'This passkey was not accepted.', {
    fix: 'Try again, or use another passkey.',
  });
}

function challengeExpired(): RefusedError {
  return new RefusedError('invalid_link', 'This request was used or has expired.', {
    fix: 'Start again.',
  });
}

function noPasskey(): RefusedError {
  return new RefusedError('not_found', 'There is no passkey with this id.');
}

export function publicPasskey(passkey: Passkey) {
  const { usedAtMs } = passkey;
  return {
    id: encodeId('psk', passkey.id),
    name: passkey.name,
    backed_up: passkey.isBackedUp,
    created_at: new Date(passkey.createdAtMs).toISOString(),
    last_used_at: usedAtMs === null ? null : new Date(usedAtMs).toISOString(),
  };
}

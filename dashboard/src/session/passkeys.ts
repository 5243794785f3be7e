import { api, type Schema, unwrap } from '../api/client.ts';
import type { Me } from './session.ts';

/** Passkeys in this browser. A dialog of the browser asks the user; null means that they closed it. */

/** Older browsers cannot read the options that the API returns. */
export function browserHasPasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== 'undefined' &&
    'parseCreationOptionsFromJSON' in PublicKeyCredential
  );
}

export async function signInWithPasskey(): Promise<Me | null> {
  const publicKey = await requestOptions();
  const credential = await unlessClosed(navigator.credentials.get({ publicKey }));
  return credential && signInWith(credential);
}

/** A challenge ends after five minutes, and a sign-in page may be open for hours. */
const OFFER_MS = 4 * 60 * 1000;

/**
 * Offers passkeys among the suggestions of the browser for a field whose `autocomplete` contains
 * `webauthn`, until the user chooses one. Null if the offer was ended, or if the browser cannot do this.
 */
export async function offerPasskeys(end: AbortSignal): Promise<Me | null> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null;
  while (!end.aborted) {
    const signal = AbortSignal.any([end, AbortSignal.timeout(OFFER_MS)]);
    const credential = await requestOptions()
      .then((publicKey) =>
        navigator.credentials.get({ publicKey, mediation: 'conditional', signal }),
      )
      // The user has not asked for anything yet, so a failure is not shown. The button remains.
      .catch(() => null);
    if (credential) return signInWith(credential);
    if (!signal.aborted) return null;
  }
  return null;
}

async function requestOptions(): Promise<PublicKeyCredentialRequestOptions> {
  const { options } = await unwrap(api.POST('/api/v1/session/passkey/options'));
  return PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
}

async function signInWith(credential: Credential): Promise<Me | null> {
  const body = { credential: toBody<Schema<'SignInWithPasskey'>['credential']>(credential) };
  const { me } = await unwrap(api.POST('/api/v1/session/passkey', { body }));
  return me;
}

/** Returns false if the user closed the dialog. */
export async function addPasskey(name: string, identity: Schema<'StartPasskey'>): Promise<boolean> {
  const { options } = await unwrap(api.POST('/api/v1/me/passkeys/options', { body: identity }));
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const created = await unlessClosed(navigator.credentials.create({ publicKey }));
  if (created === null) return false;
  const credential = toBody<Schema<'RegisterPasskey'>['credential']>(created);
  await unwrap(api.POST('/api/v1/me/passkeys', { body: { name, credential } }));
  return true;
}

function toBody<T>(credential: Credential): T {
  return (credential as PublicKeyCredential).toJSON() as T;
}

/** The browser reports a closed dialog, a timeout and a missing passkey alike. */
async function unlessClosed(asking: Promise<Credential | null>): Promise<Credential | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotAllowedError') return null;
    if (error instanceof DOMException && error.name === 'InvalidStateError') {
      throw new Error('This device already has a passkey for your account.');
    }
    throw error;
  }
}

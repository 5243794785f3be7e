import type { Pool } from '../../db/connections/pool.ts';
import { createEncryptor } from '../../lib/crypto/encryption.ts';
import type { Log } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { deleteOldMovedWorkspaces } from '../moved-workspace-store.ts';
import { Account } from './account.ts';
import { AccountDeletion } from './account-deletion.ts';
import { AccountMailer } from './account-mailer.ts';
import { AttemptLimits } from './attempt-limits.ts';
import { EmailChanges } from './email-changes.ts';
import { Invitations } from './invitations.ts';
import { deleteOldTokens } from './one-time-token-store.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import { SignInChallenges } from './passkeys/sign-in-challenge.ts';
import { PasswordResets } from './password-reset.ts';
import { type PasswordCost, Passwords } from './passwords.ts';
import { createSecondFactor } from './second-factor.ts';
import { Sessions } from './sessions.ts';
import { Setup } from './setup.ts';
import { SignIn } from './sign-in.ts';
import {
  Connections,
  type ServerProvider,
  SSO_ENCRYPTION_PURPOSE,
} from './single-sign-on/connections.ts';
import { type AccessProvider, IdentityProviders } from './single-sign-on/identity-provider.ts';
import { deleteOldSignIns } from './single-sign-on/identity-store.ts';
import { PendingSignIns } from './single-sign-on/pending-sign-in.ts';
import { SingleSignOn } from './single-sign-on/single-sign-on.ts';
import type { SendSystemEmail } from './system-emails.ts';
import { Team } from './team.ts';

/**
 * User accounts, as opposed to API keys. Addresses, passwords, codes and links come in; sessions
 * and memberships go out. Only hashes of secrets are stored, every guess is throttled, and no
 * response reveals whether an address has an account.
 */
export interface People {
  setup: Setup;
  signIn: SignIn;
  singleSignOn: SingleSignOn;
  passkeys: Passkeys;
  sessions: Sessions;
  resets: PasswordResets;
  emailChanges: EmailChanges;
  account: Account;
  accountDeletion: AccountDeletion;
  team: Team;
  invitations: Invitations;
  /** Resolves when every email about an account has been submitted. */
  settled(): Promise<void>;
  /** Deletes what has expired. Runs periodically on every node. */
  sweep(): Promise<void>;
}

export interface PeopleParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** Sends system emails. */
  sendSystemEmail: SendSystemEmail;
  /** The URL of the dashboard, with which links start. */
  appUrl: string;
  /** How many workspaces may be created from one. */
  workspacesMax: number;
  /** How long a deleted workspace or account can be restored. */
  deletionMs: number;
  /** How to reach identity providers. */
  accessProvider: AccessProvider;
  /** The identity provider in the settings of the server. */
  serverProvider: ServerProvider | undefined;
  /** Overrides the default cost: tests create many people. */
  passwordCost?: PasswordCost;
}

export function createPeople(parts: PeopleParts): People {
  const { pool, clock } = parts;
  const passwords = new Passwords(parts.passwordCost);
  const limits = new AttemptLimits({ pool, clock });
  const sessions = new Sessions({ pool, clock });
  const secondFactor = createSecondFactor(parts);
  const mailer = new AccountMailer(parts);
  const signIn = new SignIn({ pool, clock, passwords, limits, sessions, secondFactor });
  const accountParts = { ...parts, passwords, limits, sessions, signIn, secondFactor };
  const emailChanges = new EmailChanges({ ...accountParts, mailer });
  const accountDeletion = new AccountDeletion({ ...accountParts, mailer });
  return {
    setup: new Setup({ ...parts, limits, passwords, sessions }),
    signIn,
    singleSignOn: createSingleSignOn(parts, limits, sessions, mailer),
    passkeys: new Passkeys({
      ...accountParts,
      mailer,
      challenges: new SignInChallenges(parts.secretKey),
    }),
    sessions,
    resets: new PasswordResets({ ...parts, limits, passwords, mailer }),
    emailChanges,
    account: new Account(accountParts),
    accountDeletion,
    team: new Team({ pool, clock }),
    invitations: new Invitations({ ...parts, limits, passwords, sessions }),
    settled: () => mailer.settled(),
    async sweep() {
      await sessions.sweep();
      await limits.sweep();
      await deleteOldTokens(pool, clock.now());
      await deleteOldSignIns(pool, clock.now());
      await emailChanges.sweep();
      await accountDeletion.sendDueEmails();
      await accountDeletion.deleteDue();
      await deleteOldMovedWorkspaces(pool, clock.now() - MOVED_MS);
    },
  };
}

/** How long former members of a workspace that has moved find its address. */
const MOVED_MS = 90 * 24 * 60 * 60 * 1000;

function createSingleSignOn(
  parts: PeopleParts,
  limits: AttemptLimits,
  sessions: Sessions,
  mailer: AccountMailer,
): SingleSignOn {
  const { pool, clock, secretKey, appUrl, serverProvider } = parts;
  const providers = new IdentityProviders({ clock, access: parts.accessProvider, appUrl });
  const encryptor = createEncryptor(secretKey, SSO_ENCRYPTION_PURPOSE);
  return new SingleSignOn({
    ...{ pool, clock, limits, sessions, mailer, providers, encryptor, appUrl },
    connections: new Connections({ pool, clock, encryptor, providers, serverProvider }),
    pending: new PendingSignIns(secretKey),
  });
}

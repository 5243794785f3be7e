import type { Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { Account } from './account.ts';
import { AccountDeletion } from './account-deletion.ts';
import { AccountMailer } from './account-mailer.ts';
import { AttemptLimits } from './attempt-limits.ts';
import { EmailChanges } from './email-changes.ts';
import { Invitations } from './invitations.ts';
import { deleteOldTokens } from './one-time-token-store.ts';
import { PasswordResets } from './password-reset.ts';
import { type PasswordCost, Passwords } from './passwords.ts';
import { createSecondFactor } from './second-factor.ts';
import { Sessions } from './sessions.ts';
import { Setup } from './setup.ts';
import { SignIn } from './sign-in.ts';
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
      await emailChanges.sweep();
      await accountDeletion.deleteDue();
    },
  };
}

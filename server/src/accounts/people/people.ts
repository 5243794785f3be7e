import type { Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { Account } from './account.ts';
import { AttemptLimits } from './attempt-limits.ts';
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
 * People, not keys: everything around accounts of persons. Addresses, passwords, codes and links
 * come in; sessions and memberships leave. Of all secrets only hashes are kept, every guess is
 * counted, and whether an address has an account is told to nobody.
 */
export interface People {
  setup: Setup;
  signIn: SignIn;
  sessions: Sessions;
  resets: PasswordResets;
  account: Account;
  team: Team;
  invitations: Invitations;
  /** Throws away what has run out. Runs now and then on every node. */
  sweep(): Promise<void>;
}

export interface PeopleParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  secretKey: Buffer;
  /** How the service's own letters leave. */
  sendSystemEmail: SendSystemEmail;
  /** Where people reach the application: links begin with it. */
  appUrl: string;
  /** So many may one person own. */
  workspacesMax: number;
  /** Other than the standard: tests make many people. */
  passwordCost?: PasswordCost;
}

export function createPeople(parts: PeopleParts): People {
  const { pool, clock } = parts;
  const passwords = new Passwords(parts.passwordCost);
  const limits = new AttemptLimits({ pool, clock });
  const sessions = new Sessions({ pool, clock });
  const secondFactor = createSecondFactor(parts);
  const signIn = new SignIn({ pool, clock, passwords, limits, sessions, secondFactor });
  return {
    setup: new Setup({ ...parts, limits, passwords, sessions }),
    signIn,
    sessions,
    resets: new PasswordResets({ ...parts, limits, passwords }),
    account: new Account({ ...parts, passwords, limits, sessions, signIn, secondFactor }),
    team: new Team({ pool, clock }),
    invitations: new Invitations({ ...parts, limits, passwords, sessions }),
    async sweep() {
      await sessions.sweep();
      await limits.sweep();
      await deleteOldTokens(pool, clock.now());
    },
  };
}

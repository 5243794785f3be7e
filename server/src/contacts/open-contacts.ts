import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Encryptor } from '../lib/encryption.ts';
import type { Log } from '../lib/log.ts';
import { Erasures } from '../privacy/erase-address.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import { ContactImports } from './contact-imports.ts';
import { Contacts } from './contacts.ts';

/** An upload is streamed to the database, so it may be larger than a request body in memory. */
const UPLOAD_SIZE_FACTOR = 8;
const OPEN_IMPORTS_MAX = 10;

export interface ContactParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  suppressions: Suppressions;
  /** Of message contents. */
  encryptor: Encryptor;
  /** The maximum size of a request body in memory. */
  bodyBytesMax: number;
  withdraw: (workspaceId: string, mode: Mode, messageId: string) => Promise<boolean>;
}

export interface OpenContacts {
  contacts: Contacts;
  imports: ContactImports;
  erasures: Erasures;
}

/** Creates the services of this module. */
export function openContacts(parts: ContactParts): OpenContacts {
  const { pool, clock, log, suppressions, encryptor, withdraw } = parts;
  const limits = {
    uploadBytesMax: UPLOAD_SIZE_FACTOR * parts.bodyBytesMax,
    openMax: OPEN_IMPORTS_MAX,
  };
  return {
    contacts: new Contacts({ pool, clock }),
    imports: new ContactImports({ pool, clock, log, limits }),
    erasures: new Erasures({ pool, clock, log, suppressions, encryptor, withdraw }),
  };
}

/**
 * PostgreSQL advisory locks. The numbered ones share a class, "post" in ASCII, so that they do not
 * collide with those of other programs in the same database.
 */
export const LOCK_CLASS = 0x706f7374;

/**
 * The class as SQL, which differs between schemas: the numbers of advisory locks apply to a whole
 * database, which several installations can share.
 */
export const LOCK_CLASS_IN_SCHEMA = `case current_schema() when 'public' then ${LOCK_CLASS}
  else hashtext('postrider in ' || coalesce(current_schema(), '')) end`;

export const LOCKS = {
  /** Held by the one server that uses an embedded database. */
  server: 1,
  /** Held in shared mode by every process that uses an embedded database. */
  users: 2,
  /** Held while migrations are applied. */
  migrations: 3,
  /** Held while partitions are created or dropped. */
  partitions: 4,
  /** Held for a transaction while alarms are evaluated. */
  alarms: 8,
  /** Held for a transaction while the brakes are checked. */
  brakes: 9,
  /** Held by the node that moves contents to the archive. */
  contentArchive: 10,
  /** Held in shared mode by connections of servers, so that others can tell whether one is running. */
  servers: 11,
} as const;

/** Run by a connection of a server: while it is open, it can be seen that a server is running. */
export const SHOW_SERVER = `select pg_try_advisory_lock_shared(${LOCK_CLASS_IN_SCHEMA}, ${LOCKS.servers})`;

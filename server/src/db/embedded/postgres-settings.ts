/**
 * Settings of the embedded PostgreSQL. They are passed on the command line at every start, so that a
 * new release applies to existing data folders without editing files in them.
 */
export function embeddedSettings(memoryBytes: number): Readonly<Record<string, string>> {
  const memoryMiB = Math.floor(memoryBytes / MIB);
  // Each workspace that sends writes at its own places of a dozen indexes: those of 10,000 take 1 GB. What
  // is not used costs a hundredth of its size.
  const buffersMiB = Math.min(1024, Math.max(256, Math.floor(memoryMiB / 16)));
  return {
    ...SETTINGS,
    shared_buffers: `${buffersMiB}MB`,
    effective_cache_size: `${Math.max(1024, Math.floor(memoryMiB / 2))}MB`,
  };
}

const MIB = 1024 ** 2;

const SETTINGS: Readonly<Record<string, string>> = {
  // Only reachable through the socket in the data folder, which has mode 0700; PostgreSQL refuses to
  // start if others can enter it. A relative path has no length limit.
  listen_addresses: '',
  port: '5432',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',

  // A request answered with 202 is on disk.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',

  max_connections: '60',
  // Statements that read many partitions lock them and their indexes: 1,400 with one for each day of three
  // months.
  max_locks_per_transaction: '256',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  wal_buffers: '16MB',
  // A new WAL file is not filled with zeros first, which would hold up all commits for 35 ms, every
  // 5,000 messages until files are used again.
  wal_init_zero: 'off',
  // Every commit writes its own WAL. The WAL writer would wake up five times a second for what is left.
  wal_writer_delay: '10s',
  // Checkpoints are rare, because after each one the next change of a page writes it to the WAL.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  min_wal_size: '256MB',

  // Queue rows are updated a few times and then never again: vacuum early, in small steps.
  autovacuum_naptime: '20s',
  autovacuum_max_workers: '2',
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_vacuum_insert_scale_factor: '0.2',
  // Analyzing reads 30,000 rows, however little a table has grown: after each twentieth, it took ten
  // times as long as vacuum.
  autovacuum_analyze_scale_factor: '0.2',

  // The first start of a backup recovers from the WAL in its folder; no one connects before it has.
  restore_command: 'false',
  hot_standby: 'off',

  // Fewer background processes save memory.
  max_worker_processes: '2',
  max_logical_replication_workers: '0',
  max_wal_senders: '2',
  io_method: 'sync',
  random_page_cost: '1.1',

  // The log is only for the server process. Statement errors are reported to the client; in the log
  // they could reveal addresses and message contents.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

export function settingsArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

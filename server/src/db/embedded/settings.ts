/**
 * How the embedded PostgreSQL runs. Given on its command line at each start, so that a new release
 * of ours brings its settings to old data folders without editing a file in them.
 */
export const EMBEDDED_SETTINGS: Readonly<Record<string, string>> = {
  // Reachable by its socket alone, which lies in the data folder: mode 0700, and PostgreSQL itself
  // refuses to start on a folder that others may enter. A relative path has no length limit.
  listen_addresses: '',
  port: '5432',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',

  // An answered 202 is on the disk.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',

  max_connections: '60',
  shared_buffers: '256MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  effective_cache_size: '1GB',
  wal_buffers: '16MB',
  // Far apart: each checkpoint makes the next change of every page cost a full copy in the log.
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  min_wal_size: '256MB',

  // Queue rows are updated a few times and then rest: vacuum early, in small portions.
  autovacuum_naptime: '20s',
  autovacuum_max_workers: '2',
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_vacuum_insert_scale_factor: '0.2',
  autovacuum_analyze_scale_factor: '0.05',

  // Each helper process that is not there is memory saved.
  max_worker_processes: '2',
  max_logical_replication_workers: '0',
  max_wal_senders: '2',
  io_method: 'sync',
  random_page_cost: '1.1',

  // The log is for the life of the server itself. Errors of statements go to the client that sent
  // them; here they could carry addresses and contents.
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

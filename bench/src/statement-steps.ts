import type pg from 'pg';

/** The statements that PostgreSQL ran, from pg_stat_statements, by the step of a message they belong to. */
export interface Statement {
  text: string;
  calls: number;
  /** Planning and execution. */
  micros: number;
  walBytes: number;
  /** Pages that were written to the WAL as a whole. */
  pages: number;
}

export async function readStatements(client: pg.Client): Promise<Statement[]> {
  const { rows } = await client.query<Statement>(
    `select query as text, calls::float8 as calls,
            (total_exec_time + total_plan_time) * 1000 as micros,
            wal_bytes::float8 as "walBytes", wal_fpi::float8 as pages
       from pg_stat_statements s join pg_database d on d.oid = s.dbid
      where d.datname = current_database() and query not like '%pg_stat_%'`,
  );
  return rows;
}

/** In the order of a message, which is also the order in which they are tried. */
const PATTERNS = {
  accept: /insert into messages\b/,
  record: /insert into attempts\b/,
  contents: /from message_(contents|attachments)\b/,
  claim: /(from|update) deliveries\b/,
  'fan-out': /^with (place|chunk) as .*insert into webhook_deliveries\b/s,
  'webhook record': /insert into webhook_attempts\b/,
  'webhook claim': /\bwebhook_(deliveries|backlogs)\b/,
  statistics:
    /\bstatistics_|select sender, template_key, stream|\bas uncounted\b|\bnext as materialized\b/,
} as const;

export type Step = keyof typeof PATTERNS | 'other statements';

export const STEPS = [...Object.keys(PATTERNS), 'other statements'] as Step[];

export function stepOf({ text }: Pick<Statement, 'text'>): Step {
  const trimmed = text.trimStart();
  const found = Object.entries(PATTERNS).find(([, pattern]) => pattern.test(trimmed));
  return (found?.[0] ?? 'other statements') as Step;
}

import type { Pool } from './pool.ts';

/** Whether the database can be asked at this moment. */
export async function databaseAnswers(pool: Pool): Promise<boolean> {
  try {
    await pool.query('select');
    return true;
  } catch {
    return false;
  }
}

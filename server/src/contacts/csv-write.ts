/**
 * CSV as RFC 4180 has it, for people who open it in a spreadsheet. A spreadsheet runs a cell that
 * begins with = + - @ as a formula, and the addresses and names in here come from strangers: such a
 * cell gets an apostrophe in front, which shows it as text. `withoutGuard` takes it off again, so
 * that what was exported can be imported.
 */

export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n']|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Also behind apostrophes, so that every cell comes back as it was. The wide forms are formulas too
 * in spreadsheets set to Chinese or Japanese.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

export function withoutGuard(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
}

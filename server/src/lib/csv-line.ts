/**
 * Writes CSV (RFC 4180) for spreadsheets. A spreadsheet evaluates a cell that starts with = + - @
 * as a formula, and addresses, names and subjects are untrusted text. Such a cell gets a leading apostrophe, which
 * displays it as text. `stripFormulaGuard` removes it, so that exports can be imported again.
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
 * Also matches after apostrophes, so that every cell round-trips. The full-width forms are formulas
 * in Chinese and Japanese spreadsheets.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

export function stripFormulaGuard(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
}

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/**
 * Generates the row type of every table from the migrations, so that the compiler finds the statements
 * that a renamed column affects. A test compares the result with the catalog of a migrated database
 * (server/src/db/schema/tables.db.test.ts).
 */

export const TABLES_FILE = 'server/src/db/schema/tables.ts';
const MIGRATIONS = 'server/src/db/migrations';

export interface Column {
  name: string;
  type: string;
  nullable: boolean;
  /** The values that a check constraint allows. */
  values: string[] | undefined;
}

export interface Schema {
  enums: Map<string, string[]>;
  tables: Map<string, Column[]>;
}

export function tablesFile(): string {
  return render(migratedSchema());
}

/** The schema after all migrations. */
export function migratedSchema(): Schema {
  return readSchema(migrationSql());
}

function migrationSql(): string {
  return readdirSync(path.join(ROOT, MIGRATIONS))
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => readFileSync(path.join(ROOT, MIGRATIONS, name), 'utf8'))
    .join('\n');
}

const CREATE =
  /\b(?:create\s+type\s+(\w+)\s+as\s+enum|create\s+table\s+(\w+)|alter\s+table\s+(\w+)\s+add\s+column\s+([^;]+);)/gi;
const UNSUPPORTED =
  /\balter\s+table\s+\w+\s+(?:drop(?!\s+constraint)|rename|add\s+column\s+if|alter\s+column\s+\w+\s+(?:type|set\s+not|drop\s+not))[^;]*/i;

/** Only what migrations of this project use. Anything else that affects columns is an error. */
export function readSchema(source: string): Schema {
  const sql = source.replaceAll(/--[^\n]*/g, '');
  const unsupported = UNSUPPORTED.exec(sql)?.[0];
  if (unsupported) throw new Error(`scripts/table-rows.ts does not know "${unsupported.trim()}"`);
  const schema: Schema = { enums: new Map(), tables: new Map() };
  for (const match of sql.matchAll(CREATE)) {
    const [statement, enumName, table, altered, added] = match;
    const body = added === undefined ? parenthesized(sql, match.index + statement.length) : added;
    if (enumName) schema.enums.set(enumName, quotedWords(body));
    else if (table) schema.tables.set(table, tableColumns(body, schema));
    else if (altered) schema.tables.get(altered)?.push(parseColumn(body));
  }
  return schema;
}

/** The text in the next pair of parentheses. */
function parenthesized(sql: string, from: number): string {
  const start = sql.indexOf('(', from) + 1;
  let depth = 1;
  let end = start;
  for (; depth > 0 && end < sql.length; end++) {
    if (sql[end] === '(') depth += 1;
    else if (sql[end] === ')') depth -= 1;
  }
  return sql.slice(start, end - 1);
}

function tableColumns(body: string, { tables }: Schema): Column[] {
  const like = /^\s*like\s+(\w+)/i.exec(body)?.[1];
  if (like) return [...(tables.get(like) ?? [])];
  const items = splitItems(body);
  const key = items.map((item) => /^primary\s+key\s*\(([^)]*)\)/i.exec(item)?.[1]).find(Boolean);
  const keyColumns = new Set(key?.split(',').map((name) => name.trim()));
  return items
    .filter((item) => !/^(?:primary|foreign|unique|check|constraint|exclude)\b/i.test(item))
    .map(parseColumn)
    .map((column) => (keyColumns.has(column.name) ? { ...column, nullable: false } : column));
}

/** Splits at the commas that are not inside parentheses. */
function splitItems(body: string): string[] {
  const items = [''];
  let depth = 0;
  for (const character of body) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) items.push('');
    else items[items.length - 1] += character;
  }
  return items.map((item) => item.trim()).filter((item) => item !== '');
}

function parseColumn(item: string): Column {
  const [, name, type, rest] = /^(\w+)\s+(\w+(?:\[\])?)(.*)$/s.exec(item) ?? [];
  if (name === undefined || type === undefined || rest === undefined) {
    throw new Error(`scripts/table-rows.ts cannot read the column "${item}"`);
  }
  const allowed = new RegExp(`check\\s*\\(${name}\\s+in\\s*\\(([^)]*)\\)`, 'i').exec(rest)?.[1];
  return {
    name,
    type,
    nullable: !/\bnot\s+null\b|\bprimary\s+key\b/i.test(rest),
    values: allowed === undefined ? undefined : quotedWords(allowed),
  };
}

function quotedWords(text: string): string[] {
  return [...text.matchAll(/'([^']*)'/g)].map(([, word]) => word as string);
}

/** How a query returns a value (server/src/db/schema/row-types.ts). */
const TYPES: Record<string, string> = {
  uuid: 'string',
  text: 'string',
  smallint: 'number',
  integer: 'number',
  bigint: 'number',
  float8: 'number',
  boolean: 'boolean',
  timestamptz: 'number',
  bytea: 'Buffer',
  json: 'unknown',
  jsonb: 'unknown',
};

function render({ enums, tables }: Schema): string {
  const names = new Map([...enums.keys()].map((name) => [name, pascalCase(name)]));
  const sorted = [...tables].sort(([a], [b]) => (a < b ? -1 : 1));
  return `/**
 * Generated from the migrations by \`npm run generate\`: the columns of each table, as queries return
 * them (row-types.ts).
 */

${[...enums].map(([name, values]) => `${enumType(names.get(name) as string, values)}\n`).join('\n')}
${sorted
  .map(
    ([table, columns]) => `export interface ${rowName(table)} {
${columns.map((column) => `  ${column.name}: ${columnType(column, names)};\n`).join('')}}
`,
  )
  .join('\n')}
export interface Tables {
${sorted.map(([table]) => `  ${table}: ${rowName(table)};\n`).join('')}}
`;
}

const LINE_MAX = 100;

function enumType(name: string, values: readonly string[]): string {
  const line = `export type ${name} = ${union(values)};`;
  if (line.length <= LINE_MAX) return line;
  return `export type ${name} =\n${values.map((value) => `  | '${value}'`).join('\n')};`;
}

function columnType({ name, type, nullable, values }: Column, enums: Map<string, string>): string {
  const element = type.replace('[]', '');
  const known = values ? union(values) : (TYPES[element] ?? enums.get(element));
  if (known === undefined) {
    throw new Error(`scripts/table-rows.ts does not know the type ${type} of ${name}`);
  }
  const whole = type.endsWith('[]') ? `${known}[]` : known;
  return nullable && whole !== 'unknown' ? `${whole} | null` : whole;
}

function union(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(' | ');
}

function rowName(table: string): string {
  return `${pascalCase(table)}Row`;
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

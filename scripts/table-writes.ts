import { TABLE_OWNERS } from '../server/src/db/schema/table-owners.ts';

/**
 * Finds statements that write a table outside of the module that owns it. A module that needs a
 * foreign write calls a function of the owner, or composes its statement with a fragment of it.
 */

/** A table name, possibly with an interpolated part. */
const TABLE = '((?:[a-z_0-9]|\\$\\{[^}]*\\})+)';
const WRITES = new RegExp(
  [
    `insert\\s+into\\s+${TABLE}`,
    `update\\s+(?:only\\s+)?${TABLE}(?:\\s+(?:as\\s+)?\\w+)?\\s+set\\b`,
    `delete\\s+from\\s+(?:only\\s+)?${TABLE}`,
    `truncate\\s+(?:table\\s+)?${TABLE}\\s*(?:[;,\`'"]|cascade)`,
    `merge\\s+into\\s+${TABLE}`,
    `copy\\s+${TABLE}\\s*(?:\\([^)]*\\)\\s*)?from\\b`,
  ].join('|'),
  'gi',
);

/** Copies the rows of a workspace as they are, whatever they mean. */
const COPIES_ANY_TABLE = 'server/src/db/statements/copy-rows.ts';

export function foreignWriteErrors(file: string, source: string): string[] {
  if (file === COPIES_ANY_TABLE) return [];
  const module = /^server\/src\/([^/]+)\//.exec(file)?.[1] ?? '';
  return [...withoutComments(source).matchAll(WRITES)].flatMap((match) => {
    const name = match.slice(1).find((group) => group !== undefined) as string;
    return writeErrors(module, name.toLowerCase()).map((error) => `${file}: ${error}`);
  });
}

function writeErrors(module: string, name: string): string[] {
  const tables = tablesNamed(name);
  if (tables.length === 0) {
    return [`writes ${name}, which has no owner. Add it to server/src/db/schema/table-owners.ts.`];
  }
  return tables
    .filter((table) => TABLE_OWNERS[table] !== module)
    .map((table) => `writes ${table}, which belongs to ${TABLE_OWNERS[table]}/.`);
}

/**
 * A name such as statistics_${interval} stands for all tables that begin like it, and messages_p${day} for
 * the partitions of a table.
 */
function tablesNamed(name: string): (keyof typeof TABLE_OWNERS)[] {
  const tables = Object.keys(TABLE_OWNERS) as (keyof typeof TABLE_OWNERS)[];
  const [prefix = '', ...rest] = name.split('${');
  if (rest.length === 0) return tables.filter((table) => table === name);
  if (prefix === '') return [];
  return tables.filter((table) => table.startsWith(prefix) || `${table}_p` === prefix);
}

/** Comments fill whole lines here, and may mention statements. */
function withoutComments(source: string): string {
  return source
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/\*|\*)/.test(line))
    .join('\n');
}

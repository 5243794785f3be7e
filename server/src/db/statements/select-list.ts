/**
 * A select list that returns the columns of a table under the names of the fields of `Result`. The
 * compiler checks that each column exists (tables.ts) and can have the type of its field.
 */
export function selectList<Row, Result>(
  columns: { readonly [Field in keyof Result]-?: ColumnFor<Row, Result[Field]> },
  alias?: string,
): string {
  const prefix = alias === undefined ? '' : `${alias}.`;
  return Object.entries<string>(columns)
    .map(([field, column]) => `${prefix}${column}${field === column ? '' : ` as "${field}"`}`)
    .join(', ');
}

/** A field may be narrower than its column, such as a union of the texts that are stored. */
type ColumnFor<Row, Value> = {
  [Column in keyof Row]: [Value] extends [Row[Column]] ? Column : never;
}[keyof Row] &
  string;

import { Readable } from 'node:stream';
import { type TObject, type TSchema, Type } from 'typebox';
import { csvLine } from '../lib/csv-line.ts';
import { exampleOf } from './openapi/schema-example.ts';
import { oneOf } from './openapi/shared-schemas.ts';
import { type Operation, operation } from './operation.ts';
import { type AnyRequest, InnerRequest } from './server/call-operation.ts';
import type { LargeResponseLimiter } from './server/large-response-limiter.ts';

/**
 * A list as a file: the operation calls that of the list, with the same filters, page by page as the
 * client reads. Its memory does not depend on the length of the list, and whatever the list leaves out
 * or refuses is left out or refused here.
 */

const EXPORT_FORMATS = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const MEDIA_TYPES: Record<ExportFormat, string> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};

export const FormatParameter = Type.Optional(oneOf(EXPORT_FORMATS, { default: 'ndjson' }));

export const FILE_NAME_HEADER = {
  'Content-Disposition': { description: 'The file name.', schema: Type.String() },
};

/** The response with a stream of text as a file. */
export function exportFile(name: string, format: ExportFormat, chunks: AsyncIterable<string>) {
  return {
    status: 200,
    body: Readable.from(chunks, { objectMode: false, highWaterMark: 64 * 1024 }),
    mediaType: MEDIA_TYPES[format],
    headers: {
      'content-disposition': `attachment; filename="${name}.${format}"`,
      'x-content-type-options': 'nosniff',
    },
  };
}

export interface ListExport<Item> {
  id: string;
  summary: string;
  /** What is exported, as a plural; also the name of the file. */
  items: string;
  schema: TSchema;
  columns: readonly string[];
  /** The CSV records of an item; their cells belong to the columns. */
  toCells: (item: Item) => readonly (readonly unknown[])[];
}

export function exportOperation<Item>(
  list: Operation,
  largeAnswers: LargeResponseLimiter,
  { id, summary, items, schema, columns, toCells }: ListExport<Item>,
): Operation {
  const example = exampleOf(schema) as Item;
  const toCsv = (item: Item) => toCells(item).map(csvLine).join('');
  const toJson = (item: Item) => `${JSON.stringify(item)}\n`;
  return operation(
    {
      id,
      method: 'GET',
      path: `${list.spec.path}/export`,
      tag: list.spec.tag,
      summary,
      description:
        `Exports all ${items} that match the filters, in the order of the list. \`ndjson\` ` +
        '(`application/x-ndjson`): one per line, as the list returns it. `csv` (`text/csv`): for ' +
        'spreadsheets; cells that a spreadsheet would run as a formula are prefixed with an ' +
        'apostrophe.',
      scope: list.spec.scope,
      query: exportQuery(list.spec.query as TObject),
      ...(list.spec.queryParsers && { queryParsers: list.spec.queryParsers }),
      responses: {
        200: {
          description: `The ${items}.`,
          mediaType: 'application/x-ndjson',
          body: Type.String(),
          example: toJson(example),
          alternateTypes: { 'text/csv': { example: csvLine(columns) + toCsv(example) } },
          headers: FILE_NAME_HEADER,
        },
      },
      problems: ['quota_exceeded'],
    },
    async (request) => {
      const { format = 'ndjson', ...filters } = request.query as Filters;
      await largeAnswers.acquire(request.caller.workspaceId, request.signal);
      const pages = listItems<Item>(list, request, request.caller, filters);
      // Read before the response begins, so that an error becomes an error response.
      const first = await pages.next();
      const head = format === 'csv' ? csvLine(columns) : '';
      const chunks = exportChunks(head, first, pages, format === 'csv' ? toCsv : toJson);
      return exportFile(items, format, chunks);
    },
  );
}

type Filters = Record<string, unknown> & { format?: ExportFormat };

/** The filters of the list, without what selects a page of it. */
function exportQuery(query: TObject): TSchema {
  const { cursor: _cursor, limit: _limit, ...filters } = query.properties;
  return { ...query, properties: { ...filters, format: FormatParameter } };
}

interface ListPage<Item> {
  data: Item[];
  next_cursor: string | null;
  /** Only in the list of events, whose cursor is never null. */
  has_more?: boolean;
}

const PAGE_SIZE = 100;

/** The items of a list, page by page, as this caller sees them. */
export async function* listItems<Item>(
  list: Operation,
  request: AnyRequest,
  caller: AnyRequest['caller'],
  filters: object = {},
): AsyncGenerator<Item[], void> {
  for (let cursor: string | undefined; ; ) {
    const page: ListPage<Item> = await readPage(list, request, caller, filters, cursor);
    yield page.data;
    if (page.next_cursor === null || page.has_more === false) return;
    cursor = page.next_cursor;
  }
}

/** Each page has a signal of its own, so that it releases what the list limits. */
async function readPage<Item>(
  list: Operation,
  request: AnyRequest,
  caller: AnyRequest['caller'],
  filters: object,
  cursor: string | undefined,
): Promise<ListPage<Item>> {
  const done = new AbortController();
  try {
    const query = { ...filters, limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const signal = AbortSignal.any([request.signal, done.signal]);
    const input = { params: {}, query, body: {}, idempotency: undefined, signal, caller };
    const { body } = await list.handle(new InnerRequest(request, input));
    return body as ListPage<Item>;
  } finally {
    done.abort();
  }
}

async function* exportChunks<Item>(
  head: string,
  first: IteratorResult<Item[], void>,
  pages: AsyncGenerator<Item[], void>,
  toText: (item: Item) => string,
): AsyncGenerator<string> {
  if (head !== '') yield head;
  for (let page = first; !page.done; page = await pages.next()) {
    if (page.value.length > 0) yield page.value.map(toText).join('');
  }
}

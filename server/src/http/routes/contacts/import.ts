import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import {
  type ContactImports,
  publicImport,
  type Upload,
} from '../../../contacts/contact-imports.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Idempotency, IdempotencyRequest } from '../../../messages/accept/idempotency.ts';
import {
  type Operation,
  type OperationRequest,
  type OperationResponse,
  operation,
} from '../../operation.ts';
import { ContactImport, QUEUED_IMPORT } from './schemas.ts';

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';

export function importContacts(deps: {
  imports: ContactImports;
  idempotency: Idempotency;
}): Operation {
  return operation(
    {
      id: 'importContacts',
      method: 'POST',
      path: '/contacts/import',
      tag: 'Contacts',
      summary: 'Import contacts',
      description:
        'Upload a file with one contact per line. Each is created or updated as by `PUT ' +
        `/contacts/{email}\`. The format is \`${NDJSON}\` with the fields of a contact, or ` +
        `\`${CSV}\` in UTF-8 with a header line. \`email\` is required; \`first_name\`, ` +
        '`last_name` and `locale` are known columns, `attributes` contains JSON, and ' +
        'every other column becomes an attribute of that name. Empty cells change nothing. ' +
        'Lines are independent: invalid lines are reported and the others are imported. The ' +
        'output of `GET /contacts/export` can be imported. The response is sent when the ' +
        'whole file is stored durably; `GET /imports/{id}` returns the progress. The file ' +
        'may be eight times as large as other bodies (`request_body_bytes` in `GET ' +
        '/limits`).',
      scope: 'write:contacts',
      rawBody: [NDJSON, CSV],
      body: Type.String({ description: 'The file.' }),
      examples: {
        ndjson: {
          summary: 'NDJSON',
          value: '{"email":"jane@example.com","first_name":"Jane","attributes":{"plan":"pro"}}\n',
        },
        csv: {
          summary: 'CSV',
          value: 'email,first_name,plan\r\njane@example.com,Jane,pro\r\n',
        },
      },
      responses: {
        202: {
          description: 'The file was stored and will be processed.',
          body: ContactImport,
          example: QUEUED_IMPORT,
          headers: { Location: { description: 'URL of the import.', schema: Type.String() } },
        },
      },
      problems: ['quota_exceeded'],
      handlesIdempotency: true,
    },
    async (request) => {
      const upload = await received(deps, request);
      await request.reauthorize().catch(async (error) => {
        await upload.discard();
        throw error;
      });
      return started(deps.idempotency, request.idempotency, upload);
    },
  );
}

async function received(
  deps: { imports: ContactImports; idempotency: Idempotency },
  { caller, stream, contentType, idempotency }: OperationRequest<unknown, unknown, unknown>,
): Promise<Upload> {
  try {
    return await deps.imports.receive(caller, kindOf(contentType), piecesOf(stream));
  } catch (error) {
    if (stream instanceof Readable) stream.resume();
    if (!idempotency || !(error instanceof RefusedError)) throw error;
    // An Idempotency-Key that was used for another request is reported as such, whatever else is
    // wrong. After quota_exceeded the file was not read, so it may be the same one again.
    if (error.code !== 'quota_exceeded') await deps.idempotency.findResult(idempotency);
    throw error;
  }
}

/** A request without a body has no type either and is reported as an empty file. */
function kindOf(contentType: string): 'csv' | 'ndjson' {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === CSV) return 'csv';
  if (mediaType === NDJSON || mediaType === '') return 'ndjson';
  throw new RefusedError('unsupported_media_type', `The file must be ${CSV} or ${NDJSON}.`, {
    fix: `Send "Content-Type: ${CSV}" or "Content-Type: ${NDJSON}".`,
  });
}

/**
 * A rejected file is not read to its end. Ending the iteration must not destroy the stream,
 * which it does by default: that would close the connection before the response is sent. The
 * rest of the body must still be consumed before the next request on the connection.
 */
function piecesOf(stream: AsyncIterable<Buffer> | undefined): AsyncIterable<Buffer> {
  if (!stream) return nothing();
  return stream instanceof Readable ? stream.iterator({ destroyOnReturn: false }) : stream;
}

async function* nothing(): AsyncGenerator<Buffer> {}

/**
 * Two uploads are the same request if their bytes are equal, which is known only after the
 * upload.
 */
async function started(
  idempotency: Idempotency,
  key: IdempotencyRequest | undefined,
  upload: Upload,
): Promise<OperationResponse> {
  const start = async (): Promise<string> => JSON.stringify(publicImport(await upload.start()));
  if (!key) return accepted(await start());
  const requestHash = createHash('sha256')
    .update(key.requestHash + upload.hash)
    .digest('hex');
  try {
    const { result, replayed } = await idempotency.once({ ...key, requestHash }, start);
    if (!replayed) return accepted(result);
    await upload.discard();
    const reply = accepted(result);
    return { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } };
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

function accepted(job: string): OperationResponse {
  const { id } = JSON.parse(job) as { id: string };
  return { status: 202, body: job, headers: { location: `/api/v1/imports/${id}` } };
}

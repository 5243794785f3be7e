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
import { type Operation, operation, type OperationResponse, type OperationRequest } from '../../operation.ts';
import { ContactImport } from './schemas.ts';

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
        'A file with a contact per line, which is created or changed as by `PUT /contacts/{email}`: ' +
        `either \`${NDJSON}\` with the fields of a contact, or \`${CSV}\` in UTF-8 with a first line ` +
        'that names the columns. `email` is required; `first_name`, `last_name` and `locale` are ' +
        'known, `attributes` holds JSON, and every other column becomes an attribute of its name. ' +
        'An empty cell changes nothing. Lines stand for themselves: one that is wrong is reported ' +
        'and the others go on. What `GET /contacts/export` gives can be imported. The response comes ' +
        'when the whole file is stored safely; `GET /imports/{id}` tells how far it is. The file may ' +
        'be eight times as large as other bodies (`request_body_bytes` of `GET /limits`).',
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
          description: 'The file is stored and will be worked off.',
          body: ContactImport,
          headers: { Location: { description: 'Where to look.', schema: Type.String() } },
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
    // A key that was used for something else is told as such, whatever else is wrong. When there is
    // no room the file was not read: it may be the same one again.
    if (error.code !== 'quota_exceeded') await deps.idempotency.findResponse(idempotency);
    throw error;
  }
}

/** Without a body there is no type either: that is told as an empty file. */
function kindOf(contentType: string): 'csv' | 'ndjson' {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === CSV) return 'csv';
  if (mediaType === NDJSON || mediaType === '') return 'ndjson';
  throw new RefusedError('unsupported_media_type', `Send the file as ${NDJSON} or ${CSV}.`);
}

/**
 * A file that is refused is not read to its end. Leaving it must not destroy the stream, as it would
 * by itself: with the request the connection would go, and with that the response. Nor may it just be
 * left lying: what is still to come of it has to flow away before the next request can.
 */
function piecesOf(stream: AsyncIterable<Buffer> | undefined): AsyncIterable<Buffer> {
  if (!stream) return nothing();
  return stream instanceof Readable ? stream.iterator({ destroyOnReturn: false }) : stream;
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** What makes two uploads the same request is their bytes, known only once they are here. */
async function started(
  idempotency: Idempotency,
  key: IdempotencyRequest | undefined,
  upload: Upload,
): Promise<OperationResponse> {
  const start = async (): Promise<{ status: number; body: string; id: string }> => {
    const job = publicImport(await upload.start());
    return { status: 202, body: JSON.stringify(job), id: job.id };
  };
  if (!key) return accepted(await start());
  const requestHash = createHash('sha256')
    .update(key.requestHash + upload.hash)
    .digest('hex');
  try {
    const { response, replayed } = await idempotency.once({ ...key, requestHash }, start);
    if (!replayed) return accepted(response);
    await upload.discard();
    const reply = accepted(response);
    return { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } };
  } catch (error) {
    await upload.discard();
    throw error;
  }
}

function accepted(response: { status: number; body: string }): OperationResponse {
  const { id } = JSON.parse(response.body) as { id: string };
  return {
    status: response.status,
    body: response.body,
    headers: { location: `/api/v1/imports/${id}` },
  };
}

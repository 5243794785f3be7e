import { constants } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { StorageStartError } from '../db/connections/database-errors.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Certificate {
  cert: string;
  key: string;
}

/**
 * Reads the certificate and its key and checks that they match. Errors are written for the
 * operator.
 */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const cert = await readPem('SUBMISSION_TLS_CERT', files.certFile);
  const key = await readPem('SUBMISSION_TLS_KEY', files.keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new StorageStartError(
      `SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY: ${files.certFile} and ${files.keyFile} are not a certificate and its private key: ${errorMessage(error)}`,
    );
  }
  return { cert, key };
}

/** The context for STARTTLS and for implicit TLS. */
export function createTlsContext(
  certificate: Certificate,
  minVersion: 'TLSv1' | 'TLSv1.2',
): SecureContext {
  return createSecureContext({
    ...certificate,
    minVersion,
    sessionIdContext: 'postrider',
    // TLS renegotiation in a loop would exhaust the CPU.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_CIPHER_SERVER_PREFERENCE,
  });
}

async function readPem(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StorageStartError(`Cannot read ${variable} (${file}): ${errorMessage(error)}`);
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

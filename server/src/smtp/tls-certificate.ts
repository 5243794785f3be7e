import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { StorageStartError } from '../db/start-error.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Certificate {
  cert: string;
  key: string;
}

/** Reads both files and holds them together once; a fault is told in a sentence for the operator. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const cert = await readPem('SUBMISSION_TLS_CERT', files.certFile);
  const key = await readPem('SUBMISSION_TLS_KEY', files.keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new StorageStartError(
      `SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY: ${files.certFile} and ${files.keyFile} are no certificate with its key: ${errorMessage(error)}`,
    );
  }
  return { cert, key };
}

async function readPem(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StorageStartError(`${variable}: ${file} cannot be read: ${errorMessage(error)}`);
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

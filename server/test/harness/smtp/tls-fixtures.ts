import { readFileSync } from 'node:fs';

/**
 * Test certificates, made by `fixtures/tls/make.sh`. `good` is valid for mx.example.test, mx1 to mx3,
 * relay and mta-sts.example.test, localhost and the loopback addresses. All except `selfSigned` have
 * `authority` in their chain; `forged` only claims to be signed by it.
 */
export const tlsFixtures = {
  authority: read('ca.crt'),
  good: host('good'),
  wrongName: host('wrong-name'),
  expired: host('expired'),
  forged: host('forged'),
  selfSigned: { key: read('self-signed.key'), cert: read('self-signed.crt') },
};

function host(name: string): { key: string; cert: string } {
  return { key: read(`${name}.key`), cert: read(`${name}.crt`) + read('ca.crt') };
}

function read(file: string): string {
  return readFileSync(new URL(`../../fixtures/tls/${file}`, import.meta.url), 'utf8');
}

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  codeBlocks,
  documentFiles,
  EXAMPLE_URL,
  requestsIn,
  responseAfter,
} from '../../../../scripts/documentation.ts';
import { shapeDifferences } from '../../../../scripts/follow-docs.ts';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';

/**
 * Goal: every request in README.md and the guides works when pasted in the order of the page, and
 * returns what the page shows. Method: curl runs each against one server; only the address is
 * replaced. `npm run docs:follow` runs the other commands too, in a fresh clone.
 */

const run = promisify(execFile);
const PAGES = documentFiles().filter((file) =>
  codeBlocks(file).some(({ language, code }) => language === 'sh' && requestsIn(code).length > 0),
);

let app: TestApp;
let folder: string;
let operatorKey: string;
beforeAll(async () => {
  app = await startApp();
  const { pool } = app.app.storage;
  const operatorKeys = new OperatorKeys({ pool, clock: systemClock });
  operatorKey = (await operatorKeys.create({ name: 'Docs' })).token;
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-docs-'));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test.each(PAGES.map((page) => ({ page, file: page.file })))('$file', async ({ page }) => {
  const blocks = codeBlocks(page);
  for (const [at, { language, code, line }] of blocks.entries()) {
    if (language !== 'sh') continue;
    // The file that a request uploads is shown after it.
    const csv = blocks.slice(at).find((block) => block.language === 'csv');
    if (csv) await writeFile(path.join(folder, 'contacts.csv'), csv.code);
    for (const { command, body, headers } of requestsIn(code)) {
      // Reads the answer of another service.
      if (body?.startsWith('$')) continue;
      const { stdout } = await run(
        'sh',
        ['-c', `${command.replaceAll(EXAMPLE_URL, app.url)} -s -w '\\n%{http_code}'`],
        {
          cwd: folder,
          env: {
            ...process.env,
            API_KEY: app.testKey,
            LIVE_API_KEY: app.liveKey,
            OPERATOR_KEY: operatorKey,
            WORKSPACE: encodeId('wsp', app.workspaceId),
          },
        },
      );
      const status = Number(stdout.slice(stdout.lastIndexOf('\n') + 1));
      const answer = stdout.slice(0, stdout.lastIndexOf('\n'));
      // The entity tag of an example is never that of the draft.
      const isExpected = headers['if-match'] ? status === 412 : status >= 200 && status < 300;
      expect([page.file, line, answer, isExpected]).toEqual([page.file, line, answer, true]);
      const shown = responseAfter(blocks, at);
      if (!shown) continue;
      expect(shapeDifferences(JSON.parse(shown.code), JSON.parse(answer))).toEqual([]);
    }
  }
});

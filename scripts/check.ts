import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { boundaryErrors } from './boundaries.ts';
import { installChromium } from './chromium.ts';
import { staleFileErrors } from './generated.ts';
import { hygieneErrors } from './hygiene.ts';
import { languageErrors } from './language.ts';
import { ROOT } from './project-files.ts';
import { breakingChangeErrors } from './released-api.ts';

/**
 * The gate, `npm run check`: all checks that a change has to pass, the quick ones first. It stops at
 * the first failure. Step names as arguments (`npm run check -- boundaries hygiene`) run only those.
 */

interface Step {
  name: string;
  title: string;
  /** Returns whether the step passed, after it has printed its errors. */
  run: () => boolean | Promise<boolean>;
}

/** A step that hangs counts as failed. */
const STEP_TIMEOUT_MS = 45 * 60_000;

/** Lines for the end of the output, where they are not overlooked. */
const summary: string[] = [];
const scratchDir = mkdtempSync(path.join(tmpdir(), 'postrider-check-'));
/** Tests record the server's responses here, for the `responses` step. */
const responsesDir = path.join(scratchDir, 'responses');

const STEPS: Step[] = [
  {
    name: 'format',
    title: 'Format and lint',
    run: () => tool('biome', 'check', '--error-on-warnings', '.'),
  },
  {
    name: 'hygiene',
    title: 'Leftovers, links and paths',
    run: () => report(hygieneErrors()),
  },
  { name: 'boundaries', title: 'Module boundaries', run: () => report(boundaryErrors()) },
  { name: 'language', title: 'Language', run: () => report(languageErrors()) },
  { name: 'generated', title: 'Generated files', run: async () => report(await staleFileErrors()) },
  { name: 'api', title: 'API compatibility', run: () => report(breakingChangeErrors()) },
  { name: 'openapi', title: 'OpenAPI document', run: lintOpenapi },
  { name: 'types', title: 'Types', run: checkTypes },
  { name: 'tests', title: 'Tests', run: runTests },
  { name: 'responses', title: 'Responses match the API reference', run: compareResponses },
];

process.exitCode = await check(process.argv.slice(2));
rmSync(scratchDir, { recursive: true, force: true });

async function check(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    const known = STEPS.map((step) => step.name).join(', ');
    console.error(`Unknown step: ${unknown.join(', ')}. The steps are ${known}.`);
    return 2;
  }
  const startedAt = performance.now();
  const failed: string[] = [];
  for (const step of STEPS) {
    if (names.length > 0 && !names.includes(step.name)) continue;
    const stepStartedAt = performance.now();
    console.log(`\n━━ ${step.title}`);
    const passed = await step.run();
    console.log(`   ${passed ? 'ok' : 'FAILED'}, ${secondsSince(stepStartedAt)}`);
    if (!passed) failed.push(step.title);
    // What a failed run recorded is compared as well: one run shows both kinds of failure.
    if (failed.length > 0 && step.name !== 'tests') break;
  }
  if (failed.length > 0) {
    console.log([`\nCheck failed: ${failed.join(', ')}.`, ...summary].join('\n'));
    return 1;
  }
  console.log([`\nCheck passed in ${secondsSince(startedAt)}.`, ...summary].join('\n'));
  return 0;
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

function report(errors: readonly string[]): boolean {
  for (const error of errors) console.log(`   ${error}`);
  return errors.length === 0;
}

function tool(command: string, ...args: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      POSTRIDER_RESPONSES_DIR: responsesDir,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: 'inherit',
      env,
      timeout: STEP_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (signal) console.log(`   ${command} was killed by ${signal}; it may have timed out`);
      resolve(code === 0);
    });
  });
}

async function checkTypes(): Promise<boolean> {
  return (
    (await compile('.')) &&
    (await tool('node', 'dashboard/make-api-types.ts')) &&
    (await compile('dashboard')) &&
    (await tool('node', 'sdk/build.ts')) &&
    (await compile('sdk')) &&
    (await compile('sdk/test/consumer'))
  );
}

/**
 * By the native compiler, which takes a quarter of the time. It has no stable API yet, so the tools that
 * need one use the package `typescript`.
 */
function compile(project: string): Promise<boolean> {
  return tool('node', 'node_modules/typescript-native/bin/tsc', '-p', project);
}

async function lintOpenapi(): Promise<boolean> {
  return (
    (await tool('redocly', 'lint', 'openapi.json')) &&
    (await tool('spectral', 'lint', 'openapi.json', '--fail-severity', 'warn'))
  );
}

interface TestReport {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
}

async function runTests(): Promise<boolean> {
  await installChromium();
  const file = path.join(scratchDir, 'tests.json');
  const passed = await tool(
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
  );
  if (!existsSync(file)) return false;
  const results = JSON.parse(readFileSync(file, 'utf8')) as TestReport;
  summary.push(`Tests: ${results.numPassedTests} passed, ${results.numFailedTests} failed.`);
  summary.push(...failedTests(results));
  const skipped = skippedBrowserTests(results);
  if (skipped > 0) {
    summary.push(
      `${skipped} browser tests did not run because no Chromium was found. Install Chromium or set CHROMIUM_PATH, then run npm run test:browser.`,
    );
  }
  return passed;
}

/** Named at the end of the output, because a log is often kept only from there. */
function failedTests({ testResults }: TestReport): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed');
    const failures = tests.map(({ fullName }) => fullName);
    // A file can also fail as a whole, in a hook or while it loads.
    if (status === 'failed' && failures.length === 0) failures.push(message || 'did not run');
    return failures.map((failure) => `  failed: ${path.relative(ROOT, name)}: ${failure}`);
  });
}

function skippedBrowserTests({ testResults }: TestReport): number {
  return testResults
    .filter(({ name }) => name.includes('/test/browser/'))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'skipped' || status === 'pending').length;
}

async function compareResponses(): Promise<boolean> {
  if (!existsSync(responsesDir)) {
    return report(['No recorded responses: run this step together with `tests`.']);
  }
  return await tool('node', 'server/test/compare-responses.ts', responsesDir);
}

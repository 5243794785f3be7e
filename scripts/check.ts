import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
 * The gate, `npm run check`: all checks that a change has to pass, the quick ones first and two at a
 * time. It stops at the first failure. Step names as arguments (`npm run check -- boundaries hygiene`)
 * run only those.
 */

interface Step {
  name: string;
  title: string;
  /** Returns whether the step passed, after it has printed its errors. */
  run: (print: Print) => boolean | Promise<boolean>;
}

/** The output of a quick step is collected and printed in one piece when the step ends. */
type Print = (text: string) => void;

/** A step that hangs counts as failed. */
const STEP_TIMEOUT_MS = 45 * 60_000;

/** Lines for the end of the output, where they are not overlooked. */
const summary: string[] = [];
const scratchDir = mkdtempSync(path.join(tmpdir(), 'postrider-check-'));
/** Tests record the server's responses here, for the `responses` step. */
const responsesDir = path.join(scratchDir, 'responses');

/** The longest are first, so that the shorter ones fill the time next to them. */
const QUICK_STEPS: Step[] = [
  { name: 'types', title: 'Types', run: checkTypes },
  { name: 'openapi', title: 'OpenAPI document', run: lintOpenapi },
  {
    name: 'format',
    title: 'Format and lint',
    run: (print) => tool(print, 'biome', 'check', '--error-on-warnings', '.'),
  },
  {
    name: 'boundaries',
    title: 'Module boundaries',
    run: async (print) => report(print, await boundaryErrors()),
  },
  { name: 'language', title: 'Language', run: (print) => report(print, languageErrors()) },
  {
    name: 'generated',
    title: 'Generated files',
    run: async (print) => report(print, await staleFileErrors()),
  },
  {
    name: 'hygiene',
    title: 'Leftovers, links and paths',
    run: (print) => report(print, hygieneErrors()),
  },
  {
    name: 'api',
    title: 'API compatibility',
    run: (print) => report(print, breakingChangeErrors()),
  },
];

/** These use the whole machine and run one after the other. */
const SLOW_STEPS: Step[] = [
  { name: 'tests', title: 'Tests', run: runTests },
  { name: 'responses', title: 'Responses match the API reference', run: compareResponses },
];

const QUICK_CONCURRENCY = 2;

process.exitCode = await check(process.argv.slice(2));
rmSync(scratchDir, { recursive: true, force: true });

async function check(names: readonly string[]): Promise<number> {
  const known = [...QUICK_STEPS, ...SLOW_STEPS].map((step) => step.name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`Unknown step: ${unknown.join(', ')}. The steps are ${known.join(', ')}.`);
    return 2;
  }
  const isWanted = ({ name }: Step): boolean => names.length === 0 || names.includes(name);
  const startedAt = performance.now();
  const failed = await runQuickSteps(QUICK_STEPS.filter(isWanted));
  if (failed.length === 0) failed.push(...(await runSlowSteps(SLOW_STEPS.filter(isWanted))));
  if (failed.length > 0) {
    console.log([`\nCheck failed: ${failed.join(', ')}.`, ...summary].join('\n'));
    return 1;
  }
  console.log([`\nCheck passed in ${secondsSince(startedAt)}.`, ...summary].join('\n'));
  return 0;
}

/** Returns the titles of the steps that failed. */
async function runQuickSteps(steps: readonly Step[]): Promise<string[]> {
  const failed: string[] = [];
  const waiting = [...steps];
  const runNext = async (): Promise<void> => {
    const step = waiting.shift();
    if (!step || failed.length > 0) return;
    const startedAt = performance.now();
    let output = '';
    const passed = await step.run((text) => {
      output += text;
    });
    const result = passed ? 'ok' : 'FAILED';
    console.log(`\n━━ ${step.title}\n${output}   ${result}, ${secondsSince(startedAt)}`);
    if (!passed) failed.push(step.title);
    await runNext();
  };
  await Promise.all(Array.from({ length: QUICK_CONCURRENCY }, runNext));
  return failed;
}

/** Compares what a failed test run recorded as well: one run shows both kinds of failure. */
async function runSlowSteps(steps: readonly Step[]): Promise<string[]> {
  const failed: string[] = [];
  for (const step of steps) {
    const startedAt = performance.now();
    console.log(`\n━━ ${step.title}`);
    const passed = await step.run(toTerminal);
    console.log(`   ${passed ? 'ok' : 'FAILED'}, ${secondsSince(startedAt)}`);
    if (!passed) failed.push(step.title);
  }
  return failed;
}

function toTerminal(text: string): void {
  process.stdout.write(text);
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

function report(print: Print, errors: readonly string[]): boolean {
  for (const error of errors) print(`   ${error}\n`);
  return errors.length === 0;
}

function tool(print: Print, command: string, ...args: string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const isCollected = print !== toTerminal;
    const env = {
      ...process.env,
      // A tool whose output is collected does not see the terminal.
      ...(isCollected && process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
      POSTRIDER_RESPONSES_DIR: responsesDir,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: isCollected ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      env,
      timeout: STEP_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', print);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal) print(`   ${command} was killed by ${signal}; it may have timed out\n`);
      resolve(code === 0);
    });
  });
}

async function checkTypes(print: Print): Promise<boolean> {
  if (!(await tool(print, 'node', 'sdk/build.ts'))) return false;
  // The dashboard has the same types of the API, which take seconds to generate.
  cpSync(path.join(ROOT, 'sdk/dist/types'), path.join(ROOT, 'dashboard/dist/types'), {
    recursive: true,
  });
  return (
    (await compile(print, 'tsconfig.check.json')) &&
    (await compile(print, 'dashboard')) &&
    (await compile(print, 'sdk/test/consumer'))
  );
}

/**
 * By the native compiler, which takes a quarter of the time. It has no stable API yet, so the tools that
 * need one use the package `typescript`.
 */
function compile(print: Print, project: string): Promise<boolean> {
  return tool(print, 'node', 'node_modules/typescript-native/bin/tsc', '-p', project);
}

async function lintOpenapi(print: Print): Promise<boolean> {
  return (
    (await tool(print, 'redocly', 'lint', 'openapi.json')) &&
    (await tool(print, 'spectral', 'lint', 'openapi.json', '--fail-severity', 'warn'))
  );
}

interface TestReport {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}

async function runTests(print: Print): Promise<boolean> {
  await installChromium();
  const file = path.join(scratchDir, 'tests.json');
  const passed = await tool(
    print,
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${file}`,
  );
  if (!existsSync(file)) return false;
  const results = JSON.parse(readFileSync(file, 'utf8')) as TestReport;
  summary.push(`Tests: ${results.numPassedTests} passed, ${results.numFailedTests} failed.`);
  const failures = failedTests(results);
  summary.push(...failures);
  // Here as well, because a shortened log may keep only the lines around a failure.
  report(print, failures);
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
    const failures = tests.map(
      ({ fullName, failureMessages }) =>
        `${fullName}: ${failureMessages?.[0]?.split('\n', 1)[0] ?? 'no message'}`,
    );
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

async function compareResponses(print: Print): Promise<boolean> {
  if (!existsSync(responsesDir)) {
    return report(print, ['No recorded responses: run this step together with `tests`.']);
  }
  return await tool(print, 'node', 'server/test/compare-responses.ts', responsesDir);
}

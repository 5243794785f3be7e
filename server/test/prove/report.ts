import { cpus, release, totalmem, type } from 'node:os';
import { VERSION } from '../../src/version.ts';
import { type Findings, UPGRADE } from './check-logs.ts';
import { FAILURES, type FailureKind } from './failure-schedule.ts';

/** The result of a run, as JSON for programs and as Markdown for people. */
export interface Report {
  passed: boolean;
  run: RunFacts;
  findings: Findings;
}

export interface RunFacts {
  version: string;
  seed: number;
  setup: string;
  nodes: number;
  postgres: string;
  clients: number;
  startedAt: string;
  endedAt: string;
  machine: { cpu: string; cores: number; memoryGiB: number; system: string; node: string };
  /** Failures that were planned and not caused, with the reason. */
  skipped: Readonly<Partial<Record<FailureKind, string>>>;
  /** The version that was replaced by this one. */
  upgradeFrom?: string | undefined;
}

export function machineFacts(): RunFacts['machine'] {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
  };
}

export function reportOf(run: Omit<RunFacts, 'version' | 'machine'>, findings: Findings): Report {
  return {
    passed: hasPassed(findings),
    run: { version: VERSION, machine: machineFacts(), ...run },
    findings,
  };
}

/** A run in which nothing was accepted proves nothing. */
export function hasPassed({ violations, counts }: Findings): boolean {
  return violations.length === 0 && counts.accepted > 0;
}

/** The report lists no more violations and duplicates than these; the JSON file has all. */
const LISTED_MAX = 50;

export function toMarkdown({ passed, run, findings }: Report): string {
  const { machine } = run;
  const { counts, duplicates, delayMs, violations, responses } = findings;
  return `${[
    '# Reliability report',
    `**${passed ? 'Passed' : 'Failed'}**: ${summaryOf(findings)}`,
    '## Run',
    table(
      ['', ''],
      [
        ['Version', run.version],
        ...(run.upgradeFrom === undefined ? [] : [['Upgraded from', run.upgradeFrom]]),
        ['Seed', run.seed],
        ['Setup', `${run.setup}, ${run.nodes} ${run.nodes === 1 ? 'node' : 'nodes'}`],
        ['PostgreSQL', run.postgres],
        ['Clients', run.clients],
        ['Started, ended', `${run.startedAt}, ${run.endedAt}`],
        ['Machine', `${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB`],
        ['System', `${machine.system}, Node ${machine.node}`],
      ],
    ),
    '## Messages',
    table(
      ['', 'Count'],
      [
        ['Sends', counts.sends],
        ['Requests, with repeats', counts.requests],
        ...Object.entries(responses).map(([status, count]): Row => [`… ${status}`, count]),
        ['Sends answered with 202', counts.accepted],
        ['Recipients of these', counts.recipientsAccepted],
        ['Sends never answered with 202', counts.unanswered],
        ['… that were stored and delivered nevertheless', counts.unansweredStored],
        ['Recipients that arrived at the receiver', counts.arrived],
        ['Recipients that the receiver rejected, reported as bounced', counts.bounced],
        ['Recipients in test mode, delivered to the test inbox', counts.testDelivered],
        ['**Lost**', counts.lost],
        ['**Received more than once**', duplicates.length],
        ['Events, read during the run and again at its end', counts.events],
      ],
    ),
    `From the 202 to the final dot: median ${delayMs.p50} ms, 99 % within ${delayMs.p99} ms, longest ${delayMs.max} ms.`,
    '## Failures',
    table(
      ['Failure', 'Count', 'Duplicates', 'Longest time between two 202 responses'],
      Object.entries(findings.failures).map(([kind, { count, duplicates: own, longestGapMs }]) => [
        `${kind}: ${FAILURES[kind as FailureKind] ?? ''}`,
        count,
        own,
        `${(longestGapMs / 1000).toFixed(1)} s`,
      ]),
    ),
    ...Object.entries(run.skipped).map(([kind, reason]) => `Not tried: ${kind} (${reason}).`),
    '## Guarantee',
    GUARANTEE,
    ...listOf(
      'Duplicates',
      duplicates.map(
        ({ to, cause, beforeFailureMs, betweenMs }) =>
          `${to}: ${cause}, ${beforeFailureMs} ms after the first copy; the second one ${betweenMs} ms after it`,
      ),
    ),
    ...listOf(
      'Violations',
      violations.map(({ rule, subject, detail }) => `${rule}: ${subject}: ${detail}`),
    ),
  ].join('\n\n')}\n`;
}

const GUARANTEE = `Delivery is at least once. After a 202 no failure above loses the message. A recipient may get a message twice only if a failure hits between the final dot and the commit of its outcome; both copies have the same bytes and the same Message-ID. A request with an Idempotency-Key takes effect once. The event feed misses nothing and repeats nothing.`;

/** In one line, also for the terminal. */
export function summaryOf({ counts, duplicates, failures, violations }: Findings): string {
  const all = Object.values(failures).reduce((sum, one) => sum + one.count, 0);
  const upgrades = failures[UPGRADE]?.count ?? 0;
  return [
    upgrades > 0 ? `${upgrades} servers upgraded` : `${all} failures`,
    `${counts.recipientsAccepted} recipients accepted with 202`,
    `${counts.lost} lost`,
    `${duplicates.length} received twice`,
    `${violations.length} violations`,
  ].join(', ');
}

type Row = (string | number)[];

function table(head: Row, rows: Row[]): string {
  const line = (cells: Row): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function listOf(heading: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length > LISTED_MAX ? [`and ${lines.length - LISTED_MAX} more`] : [];
  const items = [...lines.slice(0, LISTED_MAX), ...more].map((line) => `- ${line}`);
  return [`## ${heading}`, items.join('\n')];
}

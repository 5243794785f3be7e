import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readFeedbackReport } from '../server/src/mail/reports/arf.ts';
import { readBounceReport } from '../server/src/mail/reports/bounce-report.ts';
import { parseMailStructure } from '../server/src/mail/reports/mime-structure.ts';
import { classifyReport } from '../server/src/messages/verdict/verdict.ts';

/**
 * Measures how well bounces are read, on the public corpus of the Sisimai project: 629 mails, with
 * the results that its own tests expect. `node scripts/bounce-corpus.ts FOLDER`, where the folder is
 * a clone of github.com/sisimai/go-sisimai with its submodule set-of-emails. Prints the mails that
 * differ and a table, and fails when a goal is missed. The corpus is not part of this repository.
 */

const RECOGNIZED_GOAL = 0.95;
const CLASS_GOAL = 0.92;

/**
 * Two mails name an unknown user in status (5.1.1) and text, and Sisimai expects another reason from
 * a second text: lhost-postfix-01 and rfc3464-01.
 */
const WRONG_SUPPRESSIONS_KNOWN = 2;

/** Sisimai's reasons for mail that does not report a failure. */
const OTHER_MAIL = new Set(['feedback', 'vacation', 'delivered']);

/** Warnings that delivery takes longer, which Sisimai reports like failures. */
const DELAY_NOTICES = new Set(
  `lhost-exim-38 lhost-exim-41 lhost-gmail-06 lhost-gmail-08 lhost-gmail-09 lhost-gmail-17
  lhost-messagingserver-07 lhost-opensmtpd-04 lhost-opensmtpd-12 lhost-opensmtpd-13
  lhost-outlook-06 lhost-sendmail-29 lhost-sendmail-55 lhost-x1-04 lhost-zoho-04 rfc3464-07
  rfc3464-09 rfc3464-34 rfc3464-55 rhost-gsuite-06 rhost-outlook-06`.split(/\s+/),
);

/** A line such as `{"01", 1, "5.1.1", "550", "userunknown", true, ""}`. */
const EXPECTATION = /\{"(\d+)",\s*\d+,\s*"[^"]*",\s*"[^"]*",\s*"([^"]*)",\s*(true|false)/g;

interface Expected {
  reason: string;
  hard: boolean;
}

const [folder, emailsFolder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Usage: node scripts/bounce-corpus.ts GO-SISIMAI [SET-OF-EMAILS]');
  process.exit(2);
}
const corpusDir = path.join(emailsFolder ?? path.join(folder, 'set-of-emails'), 'maildir');
const expectations = readExpectations(path.join(folder, 'fact'));

const counts = { failures: 0, recognized: 0, others: 0, mistaken: 0 };
const suppressions = { wrong: 0, missed: 0 };
const classes = { sisimai: [0, 0], ours: [0, 0] } as Record<'sisimai' | 'ours', [number, number]>;
for (const file of globSync('{bsd/*,not/is-not-*}.eml', { cwd: corpusDir }).toSorted()) {
  const name = path.basename(file, '.eml');
  const [expected] = expectations.get(name) ?? [];
  const bounce = classifyMail(readFileSync(path.join(corpusDir, file)));
  const isOther =
    file.startsWith('not') ||
    /^(arf|rfc3834)-/.test(name) ||
    DELAY_NOTICES.has(name) ||
    OTHER_MAIL.has(expected?.reason ?? '');
  if (isOther) {
    counts.others += 1;
    if (!bounce) continue;
    counts.mistaken += 1;
    console.log(`${name}: taken for a failure (${bounce.reason})`);
    continue;
  }
  counts.failures += 1;
  if (!bounce) {
    console.log(`${name}: not recognized`);
    continue;
  }
  counts.recognized += 1;
  if (expected) compareClass(name, bounce, expected);
}
report();

function compareClass(name: string, bounce: { class: string; reason: string }, expected: Expected) {
  const isHard = bounce.class === 'hard';
  count('sisimai', isHard === expected.hard);
  // Sisimai files every rejection after DATA under "filtered", also "User unknown", so its answer
  // is not comparable. It counts a disabled mailbox as soft; we suppress it.
  if (expected.reason === 'filtered') return;
  const isRight = isHard === (expected.hard || expected.reason === 'suspend');
  count('ours', isRight);
  if (isRight) return;
  suppressions[isHard ? 'wrong' : 'missed'] += 1;
  console.log(`${name}: ${bounce.class} ${bounce.reason}, expected ${expected.reason}`);
}

function count(measure: keyof typeof classes, isRight: boolean): void {
  classes[measure][0] += Number(isRight);
  classes[measure][1] += 1;
}

/** The first failure that the mail reports; undefined when it reports none. */
function classifyMail(data: Buffer): { class: string; reason: string } | undefined {
  const mail = parseMailStructure(data);
  if (readFeedbackReport(mail)) return undefined;
  const report = readBounceReport(mail, envelopeSender(mail.header.get('return-path')));
  const failure = report?.recipients.find(({ action }) => action === 'failed');
  return failure && classifyReport(failure);
}

/** Local delivery writes the null sender in several ways. */
function envelopeSender(returnPath = ''): string {
  const address = returnPath.replaceAll(/[<>\s]/g, '');
  return /^(mailer-daemon|null)$/i.test(address) ? '' : address;
}

/** Reads the tables in the tests of go-sisimai, by the name of the mail. */
function readExpectations(dir: string): Map<string, Expected[]> {
  const found = new Map<string, Expected[]>();
  for (const file of globSync('*_test.go', { cwd: dir })) {
    const [, module] = /^\d+-(.+)_test\.go$/.exec(file) ?? [];
    const [publicList = ''] = readFileSync(path.join(dir, file), 'utf8').split('secretlist', 1);
    for (const [, label, reason = '', hard] of publicList.matchAll(EXPECTATION)) {
      const name = `${module}-${label}`;
      found.set(name, [...(found.get(name) ?? []), { reason, hard: hard === 'true' }]);
    }
  }
  return found;
}

function report(): void {
  const rows = [
    ['failure reports recognized', counts.recognized, counts.failures, RECOGNIZED_GOAL],
    ['hard or soft as we define them', ...classes.ours, CLASS_GOAL],
    ['hard or soft as Sisimai defines them', ...classes.sisimai, 0],
    ['other mail left alone', counts.others - counts.mistaken, counts.others, 1],
  ] as const;
  for (const [measure, right, total, goal] of rows) {
    const share = `${((100 * right) / total).toFixed(1)} %`;
    console.log(`${measure.padEnd(38)} ${right} of ${total}  ${share}`);
    if (right / total < goal) process.exitCode = 1;
  }
  const { wrong, missed } = suppressions;
  console.log(`suppressed and not expected: ${wrong}; expected and not suppressed: ${missed}`);
  if (wrong > WRONG_SUPPRESSIONS_KNOWN) process.exitCode = 1;
}

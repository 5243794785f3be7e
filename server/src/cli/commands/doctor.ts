import { configFromEnvironment, misspeltInEnvironment } from '../../config/env.ts';
import { type Config, ConfigError } from '../../config/read-config.ts';
import { systemClock } from '../../lib/clock.ts';
import { columns } from '../columns.ts';
import { type Command, UsageError } from '../command.ts';
import { checkDatabase } from '../doctor/database-checks.ts';
import { type Finding, fail, ok, warn } from '../doctor/finding.ts';
import { checkGreeting } from '../doctor/greeting-checks.ts';
import { checkFolder, checkNode, checkPort, checkSpace } from '../doctor/machine-checks.ts';
import { checkNameServers, checkOutgoing } from '../doctor/network-checks.ts';
import { checkReturnPath } from '../doctor/return-path-checks.ts';
import { checkSubmission } from '../doctor/submission-checks.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Look for what would keep Postrider from working here.',
  details:
    'Nothing is changed. Each line is ok, warn or fail, with what to do; the exit code is 1 when one failed.',
  options: {
    outgoing: { takes: 'HOST', says: 'Also try to reach this mail server on MX_PORT (25).' },
    incoming: { says: 'Also try to reach BOUNCE_HOST on that port, as receivers do.' },
  },
  run: async (given) => {
    const host = given.option('outgoing');
    if (host !== undefined && !/^[A-Za-z0-9.:_-]+$/.test(host)) {
      throw new UsageError(`--outgoing takes a host name or an address, not "${host}".`);
    }
    const findings = await examine(host, given.flag('incoming'));
    const failed = findings.some(({ status }) => status === 'fail');
    return { data: { checks: findings }, text: report(findings), exitCode: failed ? 1 : 0 };
  },
};

async function examine(outgoingHost: string | undefined, incoming: boolean): Promise<Finding[]> {
  const findings = [checkNode(process.version)];
  let config: Config;
  try {
    config = configFromEnvironment();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const fix = 'Correct the variables; the README lists what they take.';
    return [...findings, ...error.mistakes.map((mistake) => fail('configuration', mistake, fix))];
  }
  const misspelt = misspeltInEnvironment();
  findings.push(
    ...(misspelt.length === 0
      ? [ok('configuration', 'Every variable is understood.')]
      : misspelt.map((told) => warn('configuration', told, 'Correct its name, or take it out.'))),
  );
  if (config.storage.databaseUrl === undefined) {
    const { dataDir } = config.storage;
    findings.push(await checkFolder(dataDir), await checkSpace(dataDir));
  }
  findings.push(
    ...(await checkDatabase(config, systemClock)),
    await checkPort(config.http),
    ...(await checkSubmission(config, systemClock)),
    ...(await checkGreeting(config.delivery, systemClock)),
    await checkNameServers(config.delivery, systemClock),
    ...(await checkReturnPath(config, systemClock, incoming)),
  );
  if (outgoingHost !== undefined) {
    findings.push(await checkOutgoing(outgoingHost, config.delivery));
  }
  return findings;
}

function report(findings: readonly Finding[]): string {
  return columns(
    findings.flatMap(({ name, status, detail, fix }) => [
      [status, name, detail],
      ...(fix === null ? [] : [['', '', `→ ${fix}`]]),
    ]),
  );
}

import { configFromEnvironment, unknownSettings } from '../../config/env.ts';
import { type Config, ConfigError } from '../../config/read-config.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { type Command, UsageError } from '../command.ts';
import { checkContentBucket } from '../doctor/content-bucket-check.ts';
import { checkDatabase } from '../doctor/database-checks.ts';
import { type CheckResult, fail, ok, warn } from '../doctor/doctor-result.ts';
import { checkHelo } from '../doctor/helo-checks.ts';
import { checkNameServers, checkOutgoing } from '../doctor/network-checks.ts';
import { checkRelays } from '../doctor/relay-checks.ts';
import { checkReturnPath } from '../doctor/return-path-checks.ts';
import { checkSettingsFiles } from '../doctor/settings-file-checks.ts';
import { checkSubmission } from '../doctor/submission-checks.ts';
import { checkDataDir, checkDiskSpace, checkNode, checkPort } from '../doctor/system-checks.ts';
import { formatTable } from '../format-table.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check the configuration, the host and the network for problems.',
  details:
    'Nothing is changed; an object that tests CONTENT_BUCKET_URL is deleted at once. Each line is ok, warn or fail, with a fix where needed. Exits with 1 if a check failed.',
  options: {
    outgoing: { value: 'HOST', description: 'Also connect to this mail server on MX_PORT (25).' },
    incoming: { description: 'Also connect to BOUNCE_HOST on that port, as receivers do.' },
  },
  run: async (input) => {
    const host = input.option('outgoing');
    if (host !== undefined && !/^[A-Za-z0-9.:_-]+$/.test(host)) {
      throw new UsageError(`--outgoing must be a host name or an IP address, not "${host}".`);
    }
    const findings = await runChecks(host, input.flag('incoming'));
    const failed = findings.some(({ status }) => status === 'fail');
    return { data: { checks: findings }, text: formatReport(findings), exitCode: failed ? 1 : 0 };
  },
};

async function runChecks(
  outgoingHost: string | undefined,
  incoming: boolean,
): Promise<CheckResult[]> {
  const findings = [checkNode(process.version)];
  let config: Config;
  try {
    config = configFromEnvironment();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const fix = 'Correct the variable; see docs/configuration.md.';
    return [...findings, ...error.errors.map((message) => fail('configuration', message, fix))];
  }
  const misspelt = unknownSettings();
  findings.push(
    ...(misspelt.length === 0
      ? [ok('configuration', 'All variables are valid.')]
      : misspelt.map((detail) => warn('configuration', detail, 'Correct or remove the variable.'))),
  );
  findings.push(...checkSettingsFiles(config));
  if (config.storage.databaseUrl === undefined) {
    const { dataDir } = config.storage;
    findings.push(await checkDataDir(dataDir), await checkDiskSpace(dataDir));
  }
  findings.push(
    ...(await checkDatabase(config, systemClock)),
    ...(await checkContentBucket(config)),
    await checkPort(config.http),
    ...(await checkSubmission(config, systemClock)),
    ...(await checkHelo(config, systemClock)),
    await checkNameServers(config.delivery, systemClock),
    ...(await checkRelays(config, systemClock)),
    ...(await checkReturnPath(config, systemClock, incoming)),
  );
  if (outgoingHost !== undefined) {
    findings.push(await checkOutgoing(outgoingHost, config.delivery));
  }
  return findings;
}

function formatReport(findings: readonly CheckResult[]): string {
  return formatTable(
    findings.flatMap(({ name, status, detail, fix }) => [
      [status, name, detail],
      ...(fix === null ? [] : [['', '', `→ ${fix}`]]),
    ]),
  );
}

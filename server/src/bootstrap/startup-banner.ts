import { operatorIssuer } from '../accounts/api-keys.ts';
import { scopesFor } from '../accounts/scopes.ts';
import type { Config } from '../config/read-config.ts';
import type { App } from './build-app.ts';
import { firstAccountSteps } from './first-account-steps.ts';

/**
 * The text printed when the server is ready. The first start creates a workspace and a test key, and
 * shows commands that can be pasted.
 */
export async function startupBanner(app: App, config: Config, sshServer?: string): Promise<string> {
  if (!config.roles.has('api')) return workerBanner(app, config);
  const url = config.http.port === 0 ? app.address : config.http.baseUrl;
  const token = await firstKey(app, config);
  const link = await app.people.setup.link(url);
  const lines = [
    '',
    `  Postrider is running at ${url}`,
    `  Dashboard: ${url}/app`,
    `  Documentation: ${url}/docs`,
    ...smtpLine(app),
    '',
    ...(link === undefined
      ? []
      : firstAccountSteps({ url, link, host: config.http.host, sshServer })),
    ...(token === undefined
      ? [`  Create an API key: ${commandName(config)} keys create --mode test --scopes all`]
      : firstSteps(url, token)),
    '',
  ];
  return lines.join('\n');
}

/** Services and containers, which print no key, have the command in PATH (docs/production.md). */
function commandName({ printFirstKey }: Config): string {
  return printFirstKey ? 'npx postrider' : 'postrider';
}

/** A node without the role `api` creates no workspace and no key. */
function workerBanner(app: App, config: Config): string {
  const health = app.address === '' ? [] : [`  Health: ${app.address}/readyz`];
  const roles = [...config.roles].join(', ');
  return ['', `  Postrider is running: ${roles}`, ...health, ...smtpLine(app), ''].join('\n');
}

function smtpLine({ submission }: App): string[] {
  const { open, host, port, tls_port: tlsPort, user } = submission.settings();
  const address = tlsPort === null ? `${host}:${port}` : `${host}:${tlsPort} (TLS)`;
  return open ? [`  SMTP: ${address}, user ${user}, password: an API key`] : [];
}

/**
 * What the guides use. It cannot create keys, so one found in an old terminal or a shell history gives
 * access to nothing that outlives it.
 */
const FIRST_KEY_SCOPES = scopesFor('test').filter((scope) => !scope.endsWith(':api_keys'));

/** The first test key, on a database that has neither a workspace nor a key. */
async function firstKey(app: App, { printFirstKey }: Config): Promise<string | undefined> {
  const workspace = (await app.workspaces.createFirst('Default')) ?? (await app.workspaces.first());
  if (!workspace || !printFirstKey) return undefined;
  const issuer = operatorIssuer(workspace.id);
  if ((await app.apiKeys.list(issuer, { limit: 1 })).keys.length > 0) return undefined;
  const { token } = await app.apiKeys.create(issuer, {
    name: 'First test key',
    mode: 'test',
    scopes: FIRST_KEY_SCOPES,
  });
  return token;
}

const FIRST_MESSAGE = JSON.stringify({
  to: { email: 'jane@example.com' },
  from: { email: 'hello@example.org' },
  subject: 'Hello ${name}',
  html: '<p>Welcome, {{ name }}!</p>',
  variables: { name: 'Jane' },
});

function firstSteps(url: string, token: string): string[] {
  return [
    '  Created a workspace and a test key. The key is shown only once:',
    '',
    `    ${token}`,
    '',
    '  Send your first message (test keys deliver to the test inbox):',
    '',
    `    curl ${url}/api/v1/transactional/send \\`,
    `      -H 'Authorization: Bearer ${token}' \\`,
    `      -H 'Content-Type: application/json' \\`,
    `      -d '${FIRST_MESSAGE}'`,
    '',
    '  Read it (each message is returned once):',
    '',
    `    curl '${url}/api/v1/test/inbox/wait?to=jane@example.com' \\`,
    `      -H 'Authorization: Bearer ${token}'`,
  ];
}

import { operatorIssuer } from '../accounts/api-keys.ts';
import type { Config } from '../config/read-config.ts';
import type { App } from './build-app.ts';

/**
 * What the operator reads when the server runs. The first start makes a workspace and a test key,
 * and shows a command that works when pasted.
 */
export async function startupBanner(app: App, config: Config): Promise<string> {
  if (!config.roles.has('api')) return workerBanner(app, config);
  const url = config.http.port === 0 ? app.address : config.http.baseUrl;
  const token = await firstKey(app);
  const setupLink = await app.people.setup.link(url);
  const lines = [
    '',
    `  Postrider is running at ${url}`,
    `  Reference: ${url}/docs`,
    ...smtpLine(app),
    '',
    ...(setupLink === undefined ? [] : ownerSteps(url, setupLink)),
    ...(token === undefined
      ? ['  Make a key: npx postrider keys create --mode test --scopes all']
      : firstSteps(url, token)),
    '',
  ];
  return lines.join('\n');
}

/** A node without the API makes nothing by itself: there is another one for that. */
function workerBanner(app: App, config: Config): string {
  const watched = app.address === '' ? [] : [`  Health: ${app.address}/readyz`];
  const roles = [...config.roles].join(', ');
  return ['', `  Postrider is running: ${roles}`, ...watched, ...smtpLine(app), ''].join('\n');
}

function smtpLine({ submission }: App): string[] {
  const { open, host, port, tls_port: tlsPort, user } = submission.settings();
  const place = tlsPort === null ? `${host}:${port}` : `${host}:${tlsPort} with TLS`;
  return open ? [`  SMTP: ${place}, user ${user}, an API key as the password`] : [];
}

/** Whoever reads this may become the owner: the link is theirs alone to hand on. */
function ownerSteps(url: string, link: string): string[] {
  return [
    `  Nobody has an account yet. On this machine open ${url}/app to make the first one;`,
    '  from another machine it takes this link, which works once:',
    '',
    `    ${link}`,
    '',
  ];
}

/** The first test key, on a database that has neither a workspace nor a key. */
async function firstKey(app: App): Promise<string | undefined> {
  const workspace = (await app.workspaces.createFirst('Default')) ?? (await app.workspaces.first());
  if (!workspace) return undefined;
  const maker = operatorIssuer(workspace.id);
  if ((await app.apiKeys.list(maker, { limit: 1 })).keys.length > 0) return undefined;
  const { token } = await app.apiKeys.create(maker, { name: 'First test key', mode: 'test' });
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
    '  A workspace and a test key were made. The key is shown this once:',
    '',
    `    ${token}`,
    '',
    '  Send your first message (a test key sends to the test inbox):',
    '',
    `    curl ${url}/api/v1/transactional/send \\`,
    `      -H 'Authorization: Bearer ${token}' \\`,
    `      -H 'Content-Type: application/json' \\`,
    `      -d '${FIRST_MESSAGE}'`,
    '',
    '  And read it:',
    '',
    `    curl '${url}/api/v1/test/inbox/wait?to=jane@example.com' \\`,
    `      -H 'Authorization: Bearer ${token}'`,
  ];
}

import { operatorOf } from '../accounts/api-keys.ts';
import { type App, assemble } from '../assemble.ts';
import { createLog } from '../base/log.ts';
import { configFromEnvironment } from '../config/env.ts';
import { type Config, ConfigError } from '../config/read-config.ts';
import { StorageStartError } from '../storage/start-error.ts';

/** `postrider start`: runs the server until a signal ends it. */
export async function start(): Promise<number> {
  let config: Config;
  try {
    config = configFromEnvironment();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    return 2;
  }
  const log = createLog({ level: config.log.level });
  let app: App;
  try {
    app = await assemble({ config, log });
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    console.error(error.message);
    return 1;
  }
  await welcome(app, config);
  const reason = await Promise.race([
    app.storage.lost,
    new Promise<string>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        process.once(signal, () => resolve(signal));
      }
    }),
  ]);
  log.info({ reason: reason instanceof Error ? reason.message : reason }, 'stopping');
  await app.stop();
  return reason instanceof Error ? 1 : 0;
}

/** The first start makes a workspace and a test key, and shows a command that works when pasted. */
async function welcome(app: App, config: Config): Promise<void> {
  const { baseUrl } = config.http;
  const lines = ['', `  Postrider is running at ${baseUrl}`, `  Reference: ${baseUrl}/docs`];
  if (!(await app.workspaces.first())) {
    const workspace = await app.workspaces.create('Default');
    const maker = operatorOf(workspace.id);
    const { token } = await app.apiKeys.create(maker, { name: 'First test key', mode: 'test' });
    lines.push(
      '',
      '  A workspace and a test key were made. The key is shown this once:',
      '',
      `    ${token}`,
      '',
      '  Send your first message (it ends in the test inbox):',
      '',
      `    curl ${baseUrl}/api/v1/transactional/send \\`,
      `      -H 'Authorization: Bearer ${token}' \\`,
      `      -H 'Content-Type: application/json' \\`,
      `      -d '{"to":{"email":"jane@example.com"},"from":{"email":"hello@example.org"},"subject":"Hello \${name}","html":"<p>Welcome, {{ name }}!</p>","variables":{"name":"Jane"}}'`,
      '',
      '  And read it:',
      '',
      `    curl '${baseUrl}/api/v1/test/inbox/wait?to=jane@example.com' -H 'Authorization: Bearer ${token}'`,
    );
  }
  console.log(`${lines.join('\n')}\n`);
}

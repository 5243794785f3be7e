import { configFromEnvironment } from '../../config/env.ts';
import type { Command } from '../command.ts';

export const start: Command = {
  name: 'start',
  summary: 'Run the server.',
  details:
    'Settings come from environment variables; see docs/configuration.md. SIGTERM and Ctrl-C shut down gracefully.',
  run: (_input, context) => context.start(configFromEnvironment()),
};

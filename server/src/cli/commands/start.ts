import { configFromEnvironment } from '../../config/env.ts';
import type { Command } from '../command.ts';

export const start: Command = {
  name: 'start',
  summary: 'Run the server until a signal ends it.',
  details:
    'Settings come from the environment; the README lists them. SIGTERM or Ctrl-C finishes what is in hand and leaves.',
  run: (_given, house) => house.start(configFromEnvironment()),
};

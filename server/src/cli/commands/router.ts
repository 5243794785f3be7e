import { configFromEnvironment } from '../../config/env.ts';
import type { Command } from '../command.ts';

export const router: Command = {
  name: 'router',
  summary: 'Run the router in front of several installations.',
  details:
    'Forwards each request to the installation that holds its API key. With SUBMISSION_PORT or SUBMISSION_TLS_PORT, it also forwards mail submitted over SMTP; with RETURN_PATH_PORT, bounces, complaints and inbound mail. ROUTER_CELLS names the installations and ROUTER_TOKEN is the secret they share; HOST and PORT say where the router listens. It needs no database. See docs/production.md, "Router".',
  run: (_input, context) => context.startRouter(configFromEnvironment()),
};

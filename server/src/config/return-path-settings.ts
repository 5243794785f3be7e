import { integer, networks, oneOf, portOrOff, text } from './setting-types.ts';

/** Settings of the SMTP listener that receives bounces, complaints and inbound mail. */
export const returnPath = {
  RETURN_PATH_PORT: portOrOff({
    description:
      'SMTP port that receives bounces, complaints, and mail for domains that receive; forward port 25 of `BOUNCE_HOST` to it ([bounces](bounces.md)). `0` picks a free port, `off` disables the listener. If the default port is taken, the server starts without it.',
    default: 2525,
  }),
  RETURN_PATH_HOST: text<string | undefined>({
    description: 'Address to listen on.',
    format: 'an IP address or host name of this machine',
    default: undefined,
    defaultText: '`HOST`',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  RETURN_PATH_TRUST_PROXY: networks({
    description: 'Proxies that pass the client address with the PROXY protocol: {format}.',
    defaultText: 'none',
  }),
  RETURN_PATH_CONNECTIONS_MAX: integer({
    description: 'Maximum concurrent connections.',
    default: 200,
    min: 1,
    max: 100_000,
  }),
  RETURN_PATH_CONNECTIONS_PER_SOURCE: integer({
    description: 'Maximum concurrent connections per client IP.',
    default: 20,
    min: 1,
    max: 100_000,
  }),
  COMPLAINT_SCOPE: oneOf({
    description:
      'What a complaint stops: `stream` is mail to the address in the same stream, `everywhere` is all mail of the workspace to it.',
    values: ['stream', 'everywhere'],
    default: 'stream',
  }),
};

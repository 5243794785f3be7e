import { integer, networks, portOrOff, text } from './kinds.ts';

/** The settings of the door that takes bounces and complaints from the servers of the world. */
export const returnPath = {
  RETURN_PATH_PORT: portOrOff({
    says: 'Port on which bounces and complaints arrive by SMTP: send port 25 of `BOUNCE_HOST` here (docs/bounces.md). 0 takes any free one, `off` closes the door. When the default is taken the server starts without it.',
    standard: 2525,
  }),
  RETURN_PATH_HOST: text<string | undefined>({
    says: 'Address that port listens on.',
    takes: 'an address or a host name of this machine',
    standard: undefined,
    standardText: '`HOST`',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  RETURN_PATH_TRUST_PROXY: networks({
    says: 'Proxies in front of that port that tell the address of the client with the PROXY protocol.',
    standardText: 'nobody',
  }),
  RETURN_PATH_CONNECTIONS_MAX: integer({
    says: 'Connections to that port at the same time.',
    standard: 200,
    min: 1,
    max: 100_000,
  }),
  RETURN_PATH_CONNECTIONS_PER_SOURCE: integer({
    says: 'Of these, from one address.',
    standard: 20,
    min: 1,
    max: 100_000,
  }),
};

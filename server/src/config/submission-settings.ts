import {
  boolean,
  integer,
  networks,
  portOrOff,
  setting,
  splitList,
  text,
} from './setting-types.ts';

/** Settings of the SMTP submission listener. */
export const submission = {
  SUBMISSION_PORT: portOrOff({
    description:
      'SMTP port for sending; the password is an API key. `0` picks a free port, `off` disables the listener. If the default port is taken, the server starts without it.',
    default: 2587,
  }),
  SUBMISSION_TLS_PORT: portOrOff({
    description:
      'Port with implicit TLS (465 by convention). Requires a certificate. `0` picks a free port.',
    default: 'off',
  }),
  SUBMISSION_HOST: text<string | undefined>({
    description: 'Address to listen on.',
    format: 'an IP address or host name of this machine',
    default: undefined,
    defaultText: '`HOST`',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  SUBMISSION_URL: smtpAddress({
    description:
      'Public SMTP address shown in the API and dashboard, if it differs from the listener (behind a proxy or port mapping, or on another process): {format}.',
    defaultText: 'the host of `BASE_URL` and the ports above',
  }),
  SUBMISSION_TLS_CERT: text<string | undefined>({
    description:
      'Certificate chain of the submission and return-path listeners: {format}. Reloaded within a minute of being renewed.',
    format: 'the path of a PEM file',
    default: undefined,
    defaultText: 'none',
  }),
  SUBMISSION_TLS_KEY: text<string | undefined>({
    description: 'Private key of the certificate: {format}.',
    format: 'the path of a PEM file',
    default: undefined,
    defaultText: 'none',
  }),
  SUBMISSION_ALLOW_PLAINTEXT: boolean({
    description:
      'Accept API keys over unencrypted connections from other machines. They are always accepted from this machine.',
    default: false,
  }),
  SUBMISSION_TRUST_PROXY: networks({
    description:
      'Proxies that pass the client address with the PROXY protocol, version 1 or 2 (version 2 also passes the TLS state): {format}. Their connections must start with the PROXY header.',
    defaultText: 'none',
  }),
  SUBMISSION_CONNECTIONS_MAX: integer({
    description: 'Maximum concurrent connections.',
    default: 1000,
    min: 1,
    max: 100_000,
  }),
  SUBMISSION_CONNECTIONS_PER_SOURCE: integer({
    description: 'Maximum concurrent connections per client IP.',
    default: 100,
    min: 1,
    max: 100_000,
  }),
};

/** The address at which clients reach the listener. */
export interface SmtpAddress {
  host: string;
  /** The port that starts unencrypted; undefined if it is not public. */
  port: number | undefined;
  /** The port with implicit TLS. */
  tlsPort: number | undefined;
}

function smtpAddress(text: { description: string; defaultText: string }) {
  return setting<SmtpAddress | undefined>(
    { ...text, default: undefined },
    '`smtp://mail.example.com:587`, `smtps://mail.example.com:465` for implicit TLS, or both, separated by a comma',
    (value) => {
      const addresses = splitList(value).map(
        (item) =>
          /^(smtps?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?\/?$/i.exec(item) ?? [],
      );
      const portOf = (wanted: 'smtp' | 'smtps', defaultPort: number): number | undefined => {
        const match = addresses.find(([, scheme]) => scheme?.toLowerCase() === wanted);
        return match && Number(match[3] ?? defaultPort);
      };
      const found = { port: portOf('smtp', 587), tlsPort: portOf('smtps', 465) };
      const ports = Object.values(found).filter((port) => port !== undefined);
      const [host, ...others] = new Set(addresses.map((match) => match[2]?.toLowerCase()));
      const portsAreValid = ports.every((port) => port >= 1 && port <= 65_535);
      // Two of one scheme, or an invalid address: then there are fewer ports than items.
      if (
        host === undefined ||
        others.length > 0 ||
        !portsAreValid ||
        ports.length !== addresses.length
      ) {
        return undefined;
      }
      return { host, ...found };
    },
  );
}

import { integer, listed, networks, portOrOff, text, variable, yesNo } from './kinds.ts';

/** The settings of the door for programs that speak SMTP. */
export const submission = {
  SUBMISSION_PORT: portOrOff({
    says: 'Port on which programs hand in mail by SMTP, with an API key as the password. 0 takes any free one, `off` closes the door. When the default is taken the server starts without it.',
    standard: 2587,
  }),
  SUBMISSION_TLS_PORT: portOrOff({
    says: 'A second port, on which the connection is encrypted from its first byte instead of by STARTTLS: 465 in the world outside. Needs the certificate. 0 takes any free one.',
    standard: 'off',
  }),
  SUBMISSION_HOST: text<string | undefined>({
    says: 'Address these ports listen on.',
    takes: 'an address or a host name of this machine',
    standard: undefined,
    standardText: '`HOST`',
    accepts: /^[A-Za-z0-9.:_-]+$/,
  }),
  SUBMISSION_URL: reachedAt(
    'Where programs reach these ports, when it is not where they listen: behind a proxy or a mapped port, or at another process. It is what the API and the dashboard tell people.',
  ),
  SUBMISSION_TLS_CERT: text<string | undefined>({
    says: 'Certificate of these ports and of that of the return path, with its chain. A renewed file is taken up within a minute.',
    takes: 'the path of a PEM file',
    standard: undefined,
    standardText: 'none',
  }),
  SUBMISSION_TLS_KEY: text<string | undefined>({
    says: 'Private key of that certificate.',
    takes: 'the path of a PEM file',
    standard: undefined,
    standardText: 'none',
  }),
  SUBMISSION_ALLOW_PLAINTEXT: yesNo({
    says: 'Take API keys over unencrypted connections from other machines too, not only from this one.',
    standard: false,
  }),
  SUBMISSION_TRUST_PROXY: networks({
    says: 'Proxies in front of these ports that tell the address of the client with the PROXY protocol, version 1 or 2, and in version 2 whether it speaks TLS with them. Every connection of theirs must begin with its header.',
    standardText: 'nobody',
  }),
  SUBMISSION_CONNECTIONS_MAX: integer({
    says: 'Connections to these ports at the same time.',
    standard: 1000,
    min: 1,
    max: 100_000,
  }),
  SUBMISSION_CONNECTIONS_PER_SOURCE: integer({
    says: 'Of these, from one address.',
    standard: 100,
    min: 1,
    max: 100_000,
  }),
};

/** How the ports are known to those who use them. */
export interface SmtpAddress {
  host: string;
  /** On which a connection begins unencrypted; undefined when it is not told. */
  port: number | undefined;
  /** On which it is encrypted from its first byte. */
  tlsPort: number | undefined;
}

function reachedAt(says: string) {
  return variable<SmtpAddress | undefined>(
    { says, standard: undefined, standardText: 'the host of `BASE_URL` and the ports above' },
    'smtp://mail.example.com:587, smtps://mail.example.com:465 with TLS from the first byte, or both, separated by a comma',
    (value) => {
      const places = listed(value).map(
        (item) =>
          /^(smtps?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?\/?$/i.exec(item) ?? [],
      );
      const portOf = (wanted: 'smtp' | 'smtps', standard: number): number | undefined => {
        const place = places.find(([, scheme]) => scheme?.toLowerCase() === wanted);
        return place && Number(place[3] ?? standard);
      };
      const found = { port: portOf('smtp', 587), tlsPort: portOf('smtps', 465) };
      const ports = Object.values(found).filter((port) => port !== undefined);
      const [host, ...others] = new Set(places.map((place) => place[2]?.toLowerCase()));
      const good = ports.every((port) => port >= 1 && port <= 65_535);
      // Two of one kind, or one that is no address: then there are fewer ports than places.
      if (host === undefined || others.length > 0 || !good || ports.length !== places.length) {
        return undefined;
      }
      return { host, ...found };
    },
  );
}

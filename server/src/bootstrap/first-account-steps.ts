import { isLoopback } from '../lib/net/client-network.ts';

/** How to create the first account, from this machine or another one. */
export interface FirstAccount {
  /** The URL of the server. */
  url: string;
  /** Anyone with the link can become the owner. */
  link: string;
  /** The address in HOST. */
  host: string;
  /** The address of this machine, if the terminal is an SSH session. */
  sshServer: string | undefined;
}

export function firstAccountSteps({ url, link, host, sshServer }: FirstAccount): string[] {
  const { hostname, protocol, port: explicitPort } = new URL(url);
  const port = explicitPort || (protocol === 'https:' ? '443' : '80');
  if (!isLocal(hostname)) {
    return [
      `  No account exists yet. Create the first one at ${url}/app on this machine,`,
      '  or from another machine with this single-use link:',
      '',
      `    ${link}`,
      '',
    ];
  }
  const here = sshServer === undefined ? ` Create the first one at ${url}/app.` : '';
  if (!isLocal(host)) {
    return [
      `  No account exists yet.${here}`,
      ...(sshServer === undefined
        ? ['  From another machine, use this single-use link with the name of this machine:']
        : ['  Create the first one with this single-use link:']),
      '',
      `    ${sshServer === undefined ? link : link.replace(hostname, bracketed(sshServer))}`,
      '',
      '  Set BASE_URL to the public URL of this server, so that its links work everywhere.',
      '',
    ];
  }
  return [
    `  No account exists yet.${here}`,
    ...(sshServer === undefined
      ? [
          '  The server accepts connections from this machine only. From another one, forward the port,',
          '  then open this single-use link there:',
        ]
      : [
          '  The server accepts connections from this machine only. On your own computer, forward the',
          '  port, then open this single-use link in a browser:',
        ]),
    '',
    `    ssh -N -L ${port}:localhost:${port} ${sshServer ?? 'THIS_MACHINE'}`,
    `    ${link}`,
    '',
    '  To make it reachable from the network instead, set HOST to 0.0.0.0, and BASE_URL to its public URL.',
    '',
  ];
}

/** An IPv6 address as a host of a URL. */
function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

function isLocal(host: string): boolean {
  return host === 'localhost' || isLoopback(host.replace(/^\[|\]$/g, ''));
}

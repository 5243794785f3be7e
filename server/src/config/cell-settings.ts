import { type Setting, setting, splitList, text } from './setting-types.ts';

/** One of several installations behind a router. */
export interface CellAddress {
  /** Also the first label of the host names that lead to its dashboard. */
  readonly name: string;
  /** An origin: one server, or the load balancer of several. */
  readonly url: string;
}

/** Settings of the router in front of several installations, and of the installations behind it. */
export const cells = {
  ROUTER_CELLS: setting<readonly CellAddress[]>(
    {
      description:
        'For `postrider router`, the installations behind it: {format}. The first is the default. See [Router](production.md#router).',
      default: [],
      defaultText: 'none',
    },
    'names and URLs such as `east=http://10.0.1.5:3000,west=http://10.0.2.5:3000`',
    parseCells,
  ),
  ROUTER_TOKEN: {
    ...text<string | undefined>({
      description:
        'Secret with which the router asks an installation whether it holds a key or a workspace. The same on the router and on every node behind it.',
      format: 'at least 32 random characters, such as the output of "openssl rand -hex 32"',
      default: undefined,
      defaultText: 'none: there is no router',
      accepts: /^[!-~]{32,}$/,
    }),
    secret: true,
  },
} satisfies Record<string, Setting<unknown>>;

const CELL = /^([a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?)=(https?:\/\/\S+)$/;

function parseCells(value: string): readonly CellAddress[] | undefined {
  const found = splitList(value).map((item) => {
    const [, name = '', address = ''] = CELL.exec(item) ?? [];
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const isOrigin = url?.pathname === '/' && !url.search && !url.hash && !url.username;
    return isOrigin ? { name, url: url.origin } : undefined;
  });
  const good = found.filter((cell) => cell !== undefined);
  const names = new Set(good.map(({ name }) => name));
  return good.length > 0 && good.length === found.length && names.size === good.length
    ? good
    : undefined;
}

/**
 * The software bill of materials of the package `postrider`, in CycloneDX, from the lock file: what the
 * server depends on, for all platforms, and what the dashboard's bundle contains. `npm sbom` leaves
 * out dependencies that a development tool of the repository shares, and does not know that the
 * dashboard is part of the package.
 */

interface LockedPackage {
  name?: string;
  version: string;
  license?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface LockFile {
  packages: Record<string, LockedPackage>;
}

/** The folders whose dependencies are installed with the package or bundled into it; '' has Node. */
const SHIPPED = ['server', 'dashboard', ''];

export function sbomOf(lock: LockFile, version: string) {
  const found = new Set<string>();
  const visit = (from: string): void => {
    const { dependencies, optionalDependencies, peerDependencies } = locked(lock, from);
    const names = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    for (const name of Object.keys(names)) {
      const at = resolve(lock, from, name);
      if (at === undefined || found.has(at)) continue;
      found.add(at);
      visit(at);
    }
  };
  for (const folder of SHIPPED) visit(folder);
  const components = new Map(
    [...found].map((at) => component(at, locked(lock, at))).map((one) => [one['bom-ref'], one]),
  );
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': `postrider@${version}`,
        type: 'application',
        name: 'postrider',
        version,
        purl: `pkg:npm/postrider@${version}`,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: [...components.values()].toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  };
}

function locked(lock: LockFile, at: string): LockedPackage {
  return lock.packages[at] as LockedPackage;
}

/** As Node resolves: in the package's own node_modules, then outward. Undefined if not installed. */
function resolve(lock: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const at = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (lock.packages[at]) return at;
    if (folder === '') return undefined;
  }
}

function component(at: string, { name, version, license, integrity }: LockedPackage) {
  const shown = name ?? at.slice(at.lastIndexOf('node_modules/') + 'node_modules/'.length);
  // A scope's @ is escaped in a package URL.
  const purl = `pkg:npm/${shown.replace('@', '%40')}@${version}`;
  const [algorithm, digest] = (integrity ?? '').split(/-(.*)/s);
  return {
    'bom-ref': `${shown}@${version}`,
    type: 'library',
    name: shown,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
    ...(algorithm === 'sha512' && digest
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
      : {}),
  };
}

/** An SPDX identifier, or an expression such as `(MIT OR Apache-2.0)`. */
function licenseOf(license: string) {
  return /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}

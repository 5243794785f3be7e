/**
 * The walls of the house: imports run one way (ARCHITECTURE.md, "Rooms"). Each room is listed with
 * the rooms it may know; everything else of ours is closed to it. Tests stand outside the walls: a
 * scenario may build whatever it needs.
 */

const REFERENCE = ['accounts', 'domains', 'contacts', 'templates', 'suppressions'];
const BELOW_MESSAGES = ['base', 'mail', 'storage', 'events', ...REFERENCE];
/** Rooms that meet in tables, never in code. */
const WORKERS = ['delivery', 'bounces', 'tracking', 'webhooks', 'stats'];
const BELOW_DOORS = [...BELOW_MESSAGES, 'messages', ...WORKERS];

const MAY_IMPORT = {
  base: [],
  config: ['base'],
  mail: ['base'],
  storage: ['base'],
  events: ['base', 'storage'],
  ...Object.fromEntries(REFERENCE.map((room) => [room, ['base', 'mail', 'storage', 'events']])),
  messages: BELOW_MESSAGES,
  ...Object.fromEntries(WORKERS.map((room) => [room, [...BELOW_MESSAGES, 'messages']])),
  doors: BELOW_DOORS,
  cli: [...BELOW_DOORS, 'config'],
};

/** What may be known beyond that, as a type alone or through a file made to be known. */
const EXCEPTIONS = {
  events: { types: ['accounts/mode'] },
  ...Object.fromEntries(
    REFERENCE.map((room) => [
      room,
      { types: REFERENCE, files: '^server/src/\\w+/[a-z-]+-source\\.ts$' },
    ]),
  ),
  // Narrow pieces of the configuration may be named; it is read above.
  ...Object.fromEntries([...WORKERS, 'doors'].map((room) => [room, { types: ['config'] }])),
};

const TEST = '\\.test\\.ts$';
/** Made by the build, from the operations: not there before the first one. */
const API_TYPES = 'dist/types/api\\.d\\.ts$';

const roomWalls = Object.entries(MAY_IMPORT).map(([room, allowed]) => {
  const { types = [], files } = EXCEPTIONS[room] ?? {};
  const open = [room, ...allowed].map((name) => `^server/src/${name}/`);
  return [
    {
      name: `${room}-wall`,
      comment: `${room}/ may import ${allowed.join(', ') || 'nothing of ours'}${types.length > 0 ? `, and types of ${types.join(', ')}` : ''}.`,
      severity: 'error',
      from: { path: `^server/src/${room}/`, pathNot: TEST },
      to: {
        path: '^server/src/',
        pathNot: [...open, '^server/src/version\\.ts$', ...(files ? [files] : [])],
        ...(types.length > 0 ? { dependencyTypesNot: ['type-only'] } : {}),
      },
    },
    ...(types.length > 0
      ? [
          {
            name: `${room}-wall-types`,
            comment: `${room}/ may know types of ${types.join(', ')} beyond its own side of the wall, no others.`,
            severity: 'error',
            from: { path: `^server/src/${room}/`, pathNot: TEST },
            to: {
              path: '^server/src/',
              pathNot: [
                ...open,
                '^server/src/version\\.ts$',
                ...types.map((name) => `^server/src/${name}[/.]`),
                ...(files ? [files] : []),
              ],
              dependencyTypes: ['type-only'],
            },
          },
        ]
      : []),
  ];
});

export default {
  forbidden: [
    ...roomWalls.flat(),
    {
      name: 'new-room',
      comment: 'A room that is not in the table above has no walls. Give it its place.',
      severity: 'error',
      from: {
        path: '^server/src/[^/]+/',
        pathNot: `^server/src/(${Object.keys(MAY_IMPORT).join('|')})/`,
      },
      to: {},
    },
    {
      name: 'doors-apart',
      comment: 'One door does not lead through another: what both need lies below them.',
      severity: 'error',
      from: { path: '^server/src/doors/([^/]+)/', pathNot: TEST },
      to: { path: '^server/src/doors/', pathNot: '^server/src/doors/$1/' },
    },
    {
      name: 'sql-in-stores',
      comment: 'Only storage/ and *-store.ts talk to PostgreSQL.',
      severity: 'error',
      from: { path: '^server/src/', pathNot: ['^server/src/storage/', '-store\\.ts$', TEST] },
      to: { path: ['^pg$', 'node_modules/(@types/)?pg/', 'node_modules/kysely/'] },
    },
    {
      name: 'no-tests-in-source',
      comment: 'What runs in production does not know the tests.',
      severity: 'error',
      from: { path: '^server/src/', pathNot: TEST },
      to: { path: ['^server/test/', TEST] },
    },
    {
      name: 'no-dev-dependencies-in-source',
      comment: 'A package that only developers install is missing where it runs.',
      severity: 'error',
      from: { path: '^server/src/', pathNot: TEST },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-alone',
      comment: 'The client library runs in programs of others: it knows itself, and no package.',
      severity: 'error',
      from: { path: '^sdk/src/', pathNot: TEST },
      to: { pathNot: ['^sdk/src/(?!.*\\.test\\.ts$)', API_TYPES] },
    },
    {
      name: 'no-circles',
      comment: 'Two files that need each other are one file, or hide a third.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'found',
      comment: 'What is imported must exist.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: API_TYPES },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { DocsPage } from './docs-page.ts';
import { DOCS } from './docs-paths.ts';
import { html } from './html.ts';
import { MarkdownDocument, type MarkdownOptions } from './markdown.ts';

/**
 * The guides: docs/*.md, and the README of the client. The files are the source, and are also read
 * in the repository. Links between them lead to pages here; what is not a page, such as source
 * code, is only named.
 */

export interface Guides {
  start: readonly DocsPage[];
  guides: readonly DocsPage[];
  operation: readonly DocsPage[];
  /** Introduces the API reference. */
  api: DocsPage;
}

const CLIENT = 'sdk/README.md';
const START = ['docs/quickstart.md', CLIENT, 'docs/smtp.md', 'docs/moving.md'];
const GUIDES = [
  'docs/templates.md',
  'docs/contacts.md',
  'docs/streams.md',
  'docs/inbound.md',
  'docs/webhooks.md',
  'docs/bounces.md',
];
const OPERATION = [
  'docs/production.md',
  'docs/platforms.md',
  'docs/sign-in.md',
  'docs/configuration.md',
  'docs/cli.md',
  'docs/scaling.md',
  'docs/reliability.md',
  'docs/performance.md',
];
const API = 'docs/api.md';

/** Titles for the table of contents where that of the file is long or is a package name. */
const TITLES: Record<string, string> = { [CLIENT]: 'TypeScript client' };

/** The base URL in the files, which pages replace with that of the server. */
const EXAMPLE_URL = 'http://localhost:3000';

/** `root` is the folder that contains `docs` and `sdk`. */
export async function readGuides(root: string, baseUrl: string): Promise<Guides> {
  const names = (await readdir(path.join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  const files = [...names.map((name) => `docs/${name}`).sort(), CLIENT];
  const served = new Set(files);
  const pages = new Map(
    await Promise.all(
      files.map(async (file): Promise<[string, DocsPage]> => {
        const text = await readFile(path.join(root, file), 'utf8');
        return [file, guidePage(file, text, served, baseUrl)];
      }),
    ),
  );
  const take = (list: readonly string[]): DocsPage[] =>
    list.map((file) => {
      const page = pages.get(file);
      if (!page) throw new Error(`The guide ${file} is missing.`);
      return page;
    });
  const listed = new Set([...START, ...GUIDES, ...OPERATION, API]);
  return {
    start: take(START),
    guides: [...take(GUIDES), ...take(files.filter((file) => !listed.has(file)))],
    operation: take(OPERATION),
    api: take([API])[0] as DocsPage,
  };
}

function guidePath(file: string): string {
  if (file === CLIENT) return `${DOCS}/typescript`;
  return `${DOCS}/${path.posix.basename(file, '.md')}`;
}

function guidePage(
  file: string,
  text: string,
  served: ReadonlySet<string>,
  baseUrl: string,
): DocsPage {
  const document = new MarkdownDocument(text);
  const options = (ending: string): MarkdownOptions => ({
    link: (target) => linkFrom(file, target, served, ending),
    code: (code) => code.replaceAll(EXAMPLE_URL, baseUrl),
  });
  const pagePath = guidePath(file);
  const title = TITLES[file] ?? document.title;
  return {
    path: pagePath,
    title,
    summary: document.lead,
    sections: () =>
      document.headings
        .filter(({ level }) => level === 2)
        .map((heading) => ({ id: heading.id, label: html`${heading.title}` })),
    main: () =>
      html`<article class="guide"><h1>${title}</h1>${document.body(options(''))}</article>`,
    markdown: () => document.source(options('.md')),
    passages: () => document.passages(),
  };
}

/** Resolves a relative link of a file; `ending` is added to the paths of pages. */
function linkFrom(
  file: string,
  target: string,
  served: ReadonlySet<string>,
  ending: string,
): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/i.test(target)) return target;
  const [name = '', heading] = target.split('#');
  const resolved = path.posix.join(path.posix.dirname(file), name);
  if (!served.has(resolved)) return undefined;
  return `${guidePath(resolved)}${ending}${heading === undefined ? '' : `#${heading}`}`;
}

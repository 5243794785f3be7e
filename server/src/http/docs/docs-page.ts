import type { Html } from './html.ts';
import type { Passage } from './markdown.ts';

/** A page of the documentation. What costs time is made when it is needed. */
export interface DocsPage {
  path: string;
  title: string;
  /** One sentence about the page. */
  summary: string;
  /** Sections that the table of contents lists while the page is open. */
  sections: () => readonly { id: string; label: Html }[];
  main: () => Html;
  markdown: () => string;
  /** The text of the page for the search, by section. */
  passages: () => readonly Passage[];
}

/** Pages under one heading of the table of contents. */
export interface PageGroup {
  title: string;
  pages: readonly DocsPage[];
}

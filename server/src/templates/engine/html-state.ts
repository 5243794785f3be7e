import type { CssMode } from './css-context.ts';

/** Where in the author's HTML a position is: all that what follows depends on. */
export interface HtmlState {
  mode: HtmlMode;
  endTag: boolean;
  tag: string;
  attribute: string;
  quote: Quote;
  css: CssMode;
  jsonString: boolean;
  /** Inside `<!--[if mso]>`: Outlook reads HTML here, everyone else a comment. */
  conditional: boolean;
  scriptType: string;
  /** The open URL attribute was begun in an earlier piece of text. */
  urlOpen: boolean;
  urlPart: UrlPart;
  /** Branches ended in different attribute names; the next text must begin outside of a name. */
  nameMayContinue: boolean;
  /** Why nothing that may turn out empty can follow the text so far. */
  joinHazard: string | undefined;
}

export type HtmlMode =
  | 'text'
  | 'tag-open'
  | 'end-tag-open'
  | 'markup'
  | 'comment'
  | 'bogus'
  | 'tag-name'
  | 'in-tag'
  | 'attribute-name'
  | 'after-attribute-name'
  | 'before-value'
  | 'value'
  | 'raw-text';

/** `+` is a quote that we add around a value which the author left bare. */
export type Quote = '"' | "'" | '' | '+';

/** How far into an address the author's own text has led. `parameter` is behind `?name=`. */
export type UrlPart = 'path' | 'query' | 'parameter' | 'fragment';

export function initialState(): HtmlState {
  return {
    mode: 'text',
    endTag: false,
    tag: '',
    attribute: '',
    quote: '',
    css: 'plain',
    jsonString: false,
    conditional: false,
    scriptType: '',
    urlOpen: false,
    urlPart: 'path',
    nameMayContinue: false,
    joinHazard: undefined,
  };
}

/** The state behind two branches; undefined when the same text cannot follow both. */
export function joinStates(one: HtmlState, other: HtmlState): HtmlState | undefined {
  if (fingerprint(one) !== fingerprint(other)) return undefined;
  const differs = one.mode !== other.mode || one.mode === 'attribute-name';
  return {
    ...one,
    mode: differs ? 'in-tag' : one.mode,
    nameMayContinue: differs || one.nameMayContinue || other.nameMayContinue,
    // An address that one branch led further than the other is followed no further.
    urlPart: one.urlPart === other.urlPart ? one.urlPart : 'path',
  };
}

function fingerprint(state: HtmlState): string {
  const { mode, tag, attribute, endTag, scriptType } = state;
  const outer = state.conditional ? 'conditional ' : '';
  switch (mode) {
    case 'value':
      return `${outer}value ${tag} ${attribute} ${state.quote} ${state.css} ${state.urlOpen}`;
    case 'raw-text':
      return `${outer}raw ${tag} ${state.css} ${state.jsonString} ${scriptType}`;
    case 'in-tag':
    case 'attribute-name':
    case 'after-attribute-name':
      return `${outer}in-tag ${endTag} ${tag} ${scriptType}`;
    case 'before-value':
      return `${outer}before ${tag} ${attribute}`;
    case 'tag-name':
      return `${outer}tag-name ${endTag} ${tag}`;
    default:
      return outer + mode;
  }
}

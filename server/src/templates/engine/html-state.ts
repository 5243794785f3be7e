import type { CssMode } from './css-context.ts';

/** A position in the author's HTML: all state that the following text depends on. */
export interface HtmlState {
  mode: HtmlMode;
  endTag: boolean;
  tag: string;
  attribute: string;
  quote: Quote;
  css: CssMode;
  jsonString: boolean;
  /** Inside `<!--[if mso]>`, which is HTML for Outlook and a comment for all other clients. */
  conditional: boolean;
  scriptType: string;
  /** The open URL attribute started in an earlier chunk of text. */
  urlOpen: boolean;
  urlPart: UrlPart;
  /** Branches ended in different attribute names, so the next text must not continue a name. */
  nameMayContinue: boolean;
  /** Why a placeholder whose value may be empty cannot follow the text so far. */
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

/** `+` is a quote that is added around an unquoted value. */
export type Quote = '"' | "'" | '' | '+';

/** Which part of a URL the author's own text has reached. `parameter` is after `?name=`. */
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

/** The state after two branches; undefined when the same text cannot follow both. */
export function joinStates(one: HtmlState, other: HtmlState): HtmlState | undefined {
  if (fingerprint(one) !== fingerprint(other)) return undefined;
  const differs = one.mode !== other.mode || one.mode === 'attribute-name';
  return {
    ...one,
    mode: differs ? 'in-tag' : one.mode,
    nameMayContinue: differs || one.nameMayContinue || other.nameMayContinue,
    // When branches reach different parts of a URL, fall back to the least specific one.
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

/**
 * Sets of HTML elements that every reader of HTML shares. The escaper, the linter, the CSS inliner, the
 * text generator and the link tracker must agree on what is markup, or a value that is harmless for one
 * of them is a tag for another.
 */

/**
 * Elements whose content is text rather than markup, up to their own end tag (WHATWG HTML 13.2.6.4: raw
 * text, RCDATA and PLAINTEXT). `noscript` is absent because email clients do not run scripts, and so is
 * `template`, whose content is markup that is not displayed.
 */
export const RAW_TEXT_ELEMENTS: ReadonlySet<string> = new Set([
  ...['script', 'style', 'title', 'textarea'],
  ...['xmp', 'iframe', 'noembed', 'noframes', 'plaintext'],
]);

/** The raw text element that has no end tag: everything after it is text. */
export const ENDLESS_ELEMENT = 'plaintext';

/** Elements without content or end tag (WHATWG HTML 13.1.2 and 13.3), including the obsolete ones. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set([
  ...['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta'],
  ...['source', 'track', 'wbr', 'basefont', 'bgsound', 'frame', 'keygen', 'param'],
]);

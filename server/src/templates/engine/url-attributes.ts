import type { UrlCheck } from './content-nodes.ts';
import type { UrlPart } from './html-state.ts';

/** Which attributes contain URLs, of which kind, and which part of a URL a position is in. */

const LINK_ATTRIBUTES = new Set([
  ...['href', 'xlink:href', 'action', 'formaction', 'cite', 'data', 'longdesc', 'usemap', 'ping'],
  ...['manifest', 'profile', 'classid', 'codebase', 'icon'],
]);
const IMAGE_ATTRIBUTES = new Set(['src', 'background', 'poster', 'lowsrc', 'dynsrc']);
/** Elements whose `src` is a document or script rather than an image. */
const ACTIVE_TAGS = new Set(['script', 'iframe', 'frame', 'embed', 'object', 'applet', 'link']);
const ANIMATED_ATTRIBUTES = new Set(['to', 'from', 'by', 'values']);

export function urlCheckOf(tag: string, attribute: string): UrlCheck | undefined {
  if (attribute === 'srcset' || attribute === 'imagesrcset') return 'srcset';
  if (IMAGE_ATTRIBUTES.has(attribute)) return ACTIVE_TAGS.has(tag) ? 'link' : 'image';
  if (LINK_ATTRIBUTES.has(attribute)) return 'link';
  if (attribute === 'content' && tag === 'meta') return 'refresh';
  const animated = tag === 'set' || tag.startsWith('animate');
  return animated && ANIMATED_ATTRIBUTES.has(attribute) ? 'link' : undefined;
}

/** `&` starts a parameter even without `?`, which may come from a value. */
export function advanceUrl(part: UrlPart, text: string): UrlPart {
  for (let i = 0; i < text.length && part !== 'fragment'; i++) {
    const character = text[i];
    if (character === '?' || character === '&') part = 'query';
    else if (character === '=' && part === 'query') part = 'parameter';
    // `&#38;` is an encoded ampersand, not the start of a fragment.
    else if (character === '#' && text[i - 1] !== '&') part = 'fragment';
  }
  return part;
}

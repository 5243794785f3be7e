import type { OutputContext } from './content-nodes.ts';
import type { HtmlState } from './html-state.ts';
import { urlCheckOf } from './url-attributes.ts';

/** The spot of an output at a position in HTML, or why there can be none. */
export function outputContext(state: HtmlState): OutputContext | { problem: string } {
  switch (state.mode) {
    case 'text':
      return 'html-text';
    case 'comment':
      return 'comment';
    case 'value':
      return attributeContext(state);
    case 'raw-text':
      return rawTextContext(state);
    case 'before-value':
      return 'attribute';
    case 'bogus':
    case 'markup':
      return { problem: 'A value cannot stand inside `<!…>` or `<?…>`.' };
    case 'tag-open':
    case 'end-tag-open':
    case 'tag-name':
      return { problem: 'A value cannot be part of a tag name.' };
    default:
      return {
        problem:
          'Inside a tag a value can stand only in an attribute, as in `title="{{ name }}"`. `| raw` allows it at your own risk.',
      };
  }
}

function attributeContext({
  tag,
  attribute,
  quote,
  css,
  urlPart,
}: HtmlState): ReturnType<typeof outputContext> {
  if (attribute.startsWith('on') || attribute === 'srcdoc') {
    return { problem: `A value cannot stand in the attribute \`${attribute}\`: it is a program.` };
  }
  if (attribute === 'style') {
    if (quote === '') return { problem: 'Put quotes around the `style` attribute.' };
    if (css.startsWith('url')) return 'css-url-in-attribute';
    return css === 'plain' || css === 'comment' ? 'css' : 'css-string';
  }
  if (quote === '') return 'bare-attribute';
  const check = urlPart === 'parameter' ? urlCheckOf(tag, attribute) : undefined;
  return check === 'link' || check === 'image' ? 'url-parameter' : 'attribute';
}

function rawTextContext({
  tag,
  css,
  scriptType,
  jsonString,
}: HtmlState): ReturnType<typeof outputContext> {
  if (tag === 'title' || tag === 'textarea') return 'html-text';
  if (tag === 'style') {
    if (css.startsWith('url')) return 'css-url';
    return css === 'plain' || css === 'comment' ? 'css' : 'css-string';
  }
  if (tag === 'script' && /^application\/(?:[\w.-]+\+)?json$/.test(scriptType.trim())) {
    return jsonString ? 'json-string' : 'json-value';
  }
  return { problem: `A value cannot stand inside \`<${tag}>\`: it could become a program.` };
}

/** Why nothing that may turn out empty can follow `text`, which led to this state. */
export function joinHazard(
  { mode, tag, attribute, conditional }: HtmlState,
  text: string,
): string | undefined {
  if ((conditional || mode === 'comment') && text.endsWith('-')) {
    return 'Put a space after the dash: together with what follows it could end the comment.';
  }
  if (mode !== 'raw-text' && !(mode === 'value' && attribute === 'style')) return undefined;
  if (text.endsWith('\\')) return 'A backslash cannot stand before a placeholder here.';
  if (mode === 'raw-text' && /<\/?[a-z]*$/i.test(text.slice(-16))) {
    return `An end tag of \`<${tag}>\` is put together from pieces.`;
  }
  return undefined;
}

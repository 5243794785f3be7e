import type { OutputContext } from './content-nodes.ts';
import type { HtmlState } from './html-state.ts';
import { urlCheckOf } from './url-attributes.ts';

/** The context of an output at a position in HTML, or why none is allowed. */
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
      return { problem: 'A placeholder cannot be inside `<!…>` or `<?…>`.' };
    case 'tag-open':
    case 'end-tag-open':
    case 'tag-name':
      return { problem: 'A placeholder cannot be part of a tag name.' };
    default:
      return {
        problem:
          'Inside a tag, a placeholder is only allowed in an attribute value, as in `title="{{ name }}"`. `| raw` overrides this at your own risk.',
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
    return {
      problem: `A placeholder is not allowed in the attribute \`${attribute}\`, because its value runs as a script.`,
    };
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
  return {
    problem: `A placeholder is not allowed inside \`<${tag}>\`, because its value could run as a script.`,
  };
}

/** Why a placeholder whose value may be empty cannot follow `text`, which led to this state. */
export function joinHazard(
  { mode, tag, attribute, conditional }: HtmlState,
  text: string,
): string | undefined {
  if ((conditional || mode === 'comment') && text.endsWith('-')) {
    return 'Put a space after the dash. Together with the following text it could end the comment.';
  }
  if (mode !== 'raw-text' && !(mode === 'value' && attribute === 'style')) return undefined;
  if (text.endsWith('\\')) return 'A backslash is not allowed before a placeholder here.';
  if (mode === 'raw-text' && /<\/?[a-z]*$/i.test(text.slice(-16))) {
    return `The end tag of \`<${tag}>\` cannot be split by a placeholder.`;
  }
  return undefined;
}

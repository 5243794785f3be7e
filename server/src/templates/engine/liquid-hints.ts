/**
 * Hints for authors used to Mustache, Handlebars, Jinja or Twig: the Liquid equivalent of what they
 * wrote. Input: the inside of an output, or the name of a filter. Output: a hint when the intent is
 * recognized.
 */

const PATH = String.raw`[A-Za-z_][\w-]*(?:\.[\w-]+)*`;
const BLOCK = new RegExp(`^#\\s*(if|unless|each|with)\\s+(${PATH})(?:\\s+as\\s+\\|\\s*(\\w+))?`);
const NAMED = new RegExp(`^([#^/>&])\\s*(${PATH})\\s*$`);
const OUTER = new RegExp(`^(?:\\.\\./)+(${PATH})\\s*$`);
const TRIPLE = new RegExp(`^\\s*(${PATH})\\s*(?:\\|\\s*([\\w '!-]+?)\\s*)?$`);

/** A hint for the inside of `{{…}}`. */
export function outputHint(text: string): string | undefined {
  // Inline content is parsed on every send, and nearly all of it is valid Liquid.
  if (!/^(?:[#/>^&!@.]|else\b)/.test(text)) return undefined;
  const block = BLOCK.exec(text);
  if (block) return blockHint(block[1] as string, block[2] as string, block[3] ?? 'item');
  const named = NAMED.exec(text);
  if (named) return sigilHint(named[1] as string, named[2] as string);
  const outer = OUTER.exec(text)?.[1];
  if (outer) return `Write \`{{ ${outer} }}\`. Outer variables are available inside loops.`;
  if (text.startsWith('!')) return 'For a comment, write `{% comment %}…{% endcomment %}`.';
  if (/^(?:else|\^)$/.test(text)) return 'Write `{% else %}`.';
  if (/^else\s+if\b/.test(text)) return 'Write `{% elsif … %}`.';
  if (text === '.') return 'Name the item: `{% for item in list %}{{ item }}{% endfor %}`.';
  if (text.startsWith('@')) {
    return 'Inside a loop, write `{{ forloop.index }}`, `forloop.index0`, `forloop.first` or `forloop.last`.';
  }
  if (!/^[#/>^&]/.test(text)) return undefined;
  return `\`{{${text[0]}\` is not Liquid. Write \`{% if … %}\` or \`{% for … in … %}\`.`;
}

function blockHint(block: string, path: string, item: string): string {
  if (block === 'each') {
    return `Write \`{% for ${item} in ${path} %}…{% endfor %}\`, and \`{{ ${item}.name }}\` for the fields of each item.`;
  }
  if (block === 'with') return `Write full paths, such as \`{{ ${path}.name }}\`.`;
  return `Write \`{% ${block} ${path} %}…{% end${block} %}\`.`;
}

function sigilHint(sign: string, path: string): string {
  switch (sign) {
    case '#':
      return `Write \`{% if ${path} %}…{% endif %}\`, or for a list, \`{% for item in ${path} %}…{% endfor %}\`.`;
    case '^':
      return `Write \`{% unless ${path} %}…{% endunless %}\`, or for a list, \`{% if ${path} == empty %}…{% endif %}\`.`;
    case '/':
      return `Write ${CLOSINGS[path] ?? '`{% endif %}` or `{% endfor %}`'}.`;
    case '>':
      return `Write \`{% render "${path}" %}\`.`;
    default:
      return rawHint(path);
  }
}

const CLOSINGS: Record<string, string> = {
  if: '`{% endif %}`',
  unless: '`{% endunless %}`',
  each: '`{% endfor %}`',
};

/** A hint for the inside of `{{{…}}}`, including Resend's syntax with a fallback after a bar. */
export function tripleBraceHint(text: string): string {
  const [, path, fallback] = (text.length < 200 && TRIPLE.exec(text)) || [];
  if (path === undefined) {
    return 'Triple braces are not supported. For unescaped HTML, write `{{ path | raw }}`.';
  }
  if (fallback === undefined) return `Triple braces are not supported. ${rawHint(path)}`;
  return `Triple braces are not supported. Write \`{{ ${path} | default: "${fallback}" }}\`.`;
}

function rawHint(path: string): string {
  return `Write \`{{ ${path} }}\`, or \`{{ ${path} | raw }}\` if the value is trusted HTML.`;
}

const EQUIVALENT_FILTERS: Record<string, string> = {
  ...{ upper: 'upcase', uppercase: 'upcase', lower: 'downcase', lowercase: 'downcase' },
  ...{ title: 'capitalize', safe: 'raw', html_safe: 'raw', nl2br: 'newline_to_br' },
  ...{ trim: 'strip', length: 'size', count: 'size', number_format: 'number' },
  ...{ currency: 'money', format_currency: 'money', fallback: 'default', d: 'default' },
  ...{ format_date: 'date', formatDate: 'date', date_format: 'date', strftime: 'date' },
  ...{ urlencode: 'url_encode', tojson: 'json', to_json: 'json', plural: 'pluralize' },
};

/** The Liquid filter equivalent to a filter of this name in other template languages. */
export function equivalentFilter(name: string): string | undefined {
  return Object.hasOwn(EQUIVALENT_FILTERS, name) ? EQUIVALENT_FILTERS[name] : undefined;
}

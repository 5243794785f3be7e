/** Where a request goes: the template of a path with its values, and the query. */
export function addressOf(
  baseUrl: string,
  template: string,
  values: Record<string, unknown> = {},
  query: Record<string, unknown> = {},
): URL {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, values[name]));
  const url = new URL(`${baseUrl}/api/v1${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'object') url.searchParams.append(name, String(value));
    // As in a body. Without fields of its own it would be left out, and the filter with it.
    else if (value instanceof Date) url.searchParams.append(name, value.toISOString());
    else {
      for (const [key, inner] of Object.entries(value)) {
        url.searchParams.append(`${name}[${key}]`, String(inner));
      }
    }
  }
  return url;
}

/** Dots would lead to another operation than the one that was asked for. */
function segment(name: string, value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value);
  if (text === '' || text === '.' || text === '..') {
    throw new TypeError(`path.${name} is ${text === '' ? 'missing' : 'not a name'}`);
  }
  return encodeURIComponent(text);
}

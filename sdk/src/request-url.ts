/** Builds the URL of a request from a path template, its values and the query. */
export function requestUrl(
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
    // Serialized as in a body. An empty object would otherwise be dropped, and the filter with it.
    else if (value instanceof Date) url.searchParams.append(name, value.toISOString());
    else {
      for (const [key, inner] of Object.entries(value)) {
        url.searchParams.append(`${name}[${key}]`, String(inner));
      }
    }
  }
  return url;
}

/** Dot segments would resolve to a different operation than the requested one. */
function segment(name: string, value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value);
  if (text === '' || text === '.' || text === '..') {
    throw new TypeError(`path.${name} is ${text === '' ? 'missing' : 'not a valid path segment'}`);
  }
  return encodeURIComponent(text);
}

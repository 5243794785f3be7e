/** A browser without scripts: follows redirects by hand and keeps cookies by origin. */
export class RedirectBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Requests a URL without following a redirect. */
  async get(url: string): Promise<{ status: number; location: string; headers: Headers }> {
    const { origin } = new URL(url);
    const own = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, own);
    const cookie = [...own].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
    await response.arrayBuffer();
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === '' || /max-age=0/i.test(line)) own.delete(name);
      else own.set(name, value);
    }
    const location = response.headers.get('location') ?? '';
    const absolute = location === '' ? '' : new URL(location, url).href;
    return { status: response.status, location: absolute, headers: response.headers };
  }

  /** Follows redirects until one leads to a URL that starts with the prefix. */
  async follow(url: string, prefix: string): Promise<string> {
    let next = url;
    for (let hops = 0; hops < 10; hops += 1) {
      if (next.startsWith(prefix)) return next;
      const { status, location } = await this.get(next);
      if (location === '') throw new Error(`${next} responded with ${status} and no redirect`);
      next = location;
    }
    throw new Error('too many redirects');
  }

  cookie(origin: string, name: string): string | undefined {
    return this.#cookies.get(origin)?.get(name);
  }
}

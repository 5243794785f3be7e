/** What a browser remembers for us. Storage may be closed or full: then it just does not remember. */

export function recall(key: string): string | null {
  try {
    return sessionStorage.getItem(`postrider.${key}`) ?? localStorage.getItem(`postrider.${key}`);
  } catch {
    return null;
  }
}

/** For this tab, and as the start for new ones. */
export function keep(key: string, value: string): void {
  try {
    sessionStorage.setItem(`postrider.${key}`, value);
    localStorage.setItem(`postrider.${key}`, value);
  } catch {
    // Not remembered.
  }
}

export function forget(key: string): void {
  try {
    sessionStorage.removeItem(`postrider.${key}`);
    localStorage.removeItem(`postrider.${key}`);
  } catch {
    // Nothing was remembered.
  }
}

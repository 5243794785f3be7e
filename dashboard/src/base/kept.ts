/** What a browser remembers for us. Storage may be closed or full: then it just does not remember. */

export function recall(key: string): string | null {
  try {
    return sessionStorage.getItem(nameOf(key)) ?? localStorage.getItem(nameOf(key));
  } catch {
    return null;
  }
}

/** For this tab, and as the start for new ones. */
export function keep(key: string, value: string): void {
  try {
    sessionStorage.setItem(nameOf(key), value);
    localStorage.setItem(nameOf(key), value);
  } catch {
    // Not remembered.
  }
}

export function recallForAllTabs(key: string): string | null {
  try {
    return localStorage.getItem(nameOf(key));
  } catch {
    return null;
  }
}

/** `null` forgets it. */
export function keepForAllTabs(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(nameOf(key));
    else localStorage.setItem(nameOf(key), value);
  } catch {
    // Not remembered.
  }
}

function nameOf(key: string): string {
  return `postrider.${key}`;
}

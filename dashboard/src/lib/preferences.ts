/** What a browser remembers for us. Storage may be closed or full: then it just does not remember. */

export function readPreference(key: string): string | null {
  try {
    return sessionStorage.getItem(storageKey(key)) ?? localStorage.getItem(storageKey(key));
  } catch {
    return null;
  }
}

/** For this tab, and as the start for new ones. */
export function savePreference(key: string, value: string): void {
  try {
    sessionStorage.setItem(storageKey(key), value);
    localStorage.setItem(storageKey(key), value);
  } catch {
    // Not remembered.
  }
}

export function readSharedPreference(key: string): string | null {
  try {
    return localStorage.getItem(storageKey(key));
  } catch {
    return null;
  }
}

/** `null` forgets it. */
export function saveSharedPreference(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(storageKey(key));
    else localStorage.setItem(storageKey(key), value);
  } catch {
    // Not remembered.
  }
}

function storageKey(key: string): string {
  return `postrider.${key}`;
}

/** Preferences kept in the browser. When storage is blocked or full, nothing is remembered. */

export function readPreference(key: string): string | null {
  try {
    return sessionStorage.getItem(storageKey(key)) ?? localStorage.getItem(storageKey(key));
  } catch {
    return null;
  }
}

/** Saves a value for this tab, and as the initial value for new tabs. */
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

/** Saves a value for all tabs; `null` removes it. */
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

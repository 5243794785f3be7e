import { readSharedPreference, saveSharedPreference } from '../lib/preferences.ts';
import { createStore, useStore } from '../lib/store.ts';

/** Light, dark or the system's theme: one setting for all tabs and for the docs at /docs. */

export type Theme = 'light' | 'dark' | 'system';

const theme = createStore<Theme>(storedTheme());
const systemDark = matchMedia('(prefers-color-scheme: dark)');

export function useTheme(): Theme {
  return useStore(theme);
}

export function setTheme(next: Theme): void {
  saveSharedPreference('theme', next === 'system' ? null : next);
  theme.set(next);
  apply();
}

function storedTheme(): Theme {
  const value = readSharedPreference('theme');
  return value === 'light' || value === 'dark' ? value : 'system';
}

function apply(): void {
  const chosen = theme.get();
  const dark = chosen === 'dark' || (chosen === 'system' && systemDark.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

systemDark.addEventListener('change', apply);
addEventListener('storage', () => {
  theme.set(storedTheme());
  apply();
});

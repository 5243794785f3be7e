import { saveSharedPreference, readSharedPreference } from '../lib/preferences.ts';
import { createStore, useStore } from '../lib/store.ts';

/** Light, dark or what the system says: one choice for every tab, and for the reference at /docs. */

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
  const word = readSharedPreference('theme');
  return word === 'light' || word === 'dark' ? word : 'system';
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

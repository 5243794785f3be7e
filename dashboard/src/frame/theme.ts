import { keepForAllTabs, recallForAllTabs } from '../base/kept.ts';
import { createStore, useStore } from '../base/store.ts';

/** Light, dark or what the system says: one choice for every tab, and for the reference at /docs. */

export type Theme = 'light' | 'dark' | 'system';

const theme = createStore<Theme>(kept());
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

export function useTheme(): Theme {
  return useStore(theme);
}

export function chooseTheme(next: Theme): void {
  keepForAllTabs('theme', next === 'system' ? null : next);
  theme.set(next);
  apply();
}

function kept(): Theme {
  const word = recallForAllTabs('theme');
  return word === 'light' || word === 'dark' ? word : 'system';
}

function apply(): void {
  const chosen = theme.get();
  const dark = chosen === 'dark' || (chosen === 'system' && darkSystem.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

darkSystem.addEventListener('change', apply);
addEventListener('storage', () => {
  theme.set(kept());
  apply();
});

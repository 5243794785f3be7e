import { forget, keep, recall } from '../base/kept.ts';
import { createStore, useStore } from '../base/store.ts';

export type Theme = 'light' | 'dark' | 'system';

const kept = recall('theme');
const theme = createStore<Theme>(kept === 'light' || kept === 'dark' ? kept : 'system');
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

export function useTheme(): Theme {
  return useStore(theme);
}

export function chooseTheme(next: Theme): void {
  if (next === 'system') forget('theme');
  else keep('theme', next);
  theme.set(next);
  apply();
}

function apply(): void {
  const chosen = theme.get();
  const dark = chosen === 'dark' || (chosen === 'system' && darkSystem.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

darkSystem.addEventListener('change', apply);

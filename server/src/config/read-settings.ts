import type { Setting } from './setting-types.ts';
import { SETTINGS, type SettingName } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingValues {
  of<N extends SettingName>(name: N): SettingValue<N>;
  wasGiven(name: SettingName): boolean;
  errors: string[];
}

/** Formats are Markdown for docs/configuration.md; a terminal shows no links. */
function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

export type SettingValue<N extends SettingName> = (typeof SETTINGS)[N]['default'];

/** Parses each setting on its own. A setting that is not given or invalid has its default. */
export function readSettings(env: Environment): SettingValues {
  const values = new Map<string, unknown>();
  const given = new Set<string>();
  const errors: string[] = [];
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const text = env[name]?.trim() ?? '';
    // Docker Compose and shells pass unset variables as empty ones.
    const value = text === '' ? setting.default : setting.parse(text);
    if (text !== '') given.add(name);
    if (text !== '' && value === undefined) {
      const shown = setting.secret ? 'the value' : JSON.stringify(text);
      errors.push(`${name}: ${shown} is invalid. Expected ${withoutLinks(setting.format)}.`);
    }
    values.set(name, value ?? setting.default);
  }
  return {
    of: <N extends SettingName>(name: N) => values.get(name) as SettingValue<N>,
    wasGiven: (name) => given.has(name),
    errors,
  };
}

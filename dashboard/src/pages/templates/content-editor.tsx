import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { Select, TextInput } from '../../components/field.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { classNames } from '../../lib/class-names.ts';
import { useCan } from '../../session/session.ts';
import type { EditorMark } from './code-editor.tsx';
import { type ContentKind, contentApi, type TemplateSummary } from './content-api.ts';
import type { Checks } from './use-checks.ts';
import type { Draft } from './use-draft.ts';

const CodeEditor = lazy(() =>
  import('./code-editor.tsx').then((file) => ({ default: file.CodeEditor })),
);

type Part = 'html' | 'text';

/** Edits the subject, HTML and text of a template, in the default or another language. */
export function ContentEditor({
  kind,
  draft,
  checks,
  locale,
  onLocale,
}: {
  kind: ContentKind;
  draft: Draft;
  checks: Checks;
  locale: string | null;
  onLocale: (locale: string | null) => void;
}) {
  const [part, setPart] = useState<Part>('html');
  const readOnly = !useCan()('write:templates');
  const content = locale === null ? draft.fields : (draft.fields.locales[locale] ?? {});
  const set = (change: Record<string, string>) => {
    if (locale === null) draft.set(change);
    else {
      const { locales } = draft.fields;
      draft.set({ locales: { ...locales, [locale]: { ...locales[locale], ...change } } });
    }
  };
  const field = locale === null ? part : `locales.${locale}.${part}`;
  const marks = useMarks(checks, field);
  return (
    <>
      <div className="grid gap-3 px-4 py-3 sm:px-6">
        {kind === 'template' && (
          <div className="flex items-center gap-3">
            <span className="text-sm text-soft" aria-hidden>
              Subject
            </span>
            <TextInput
              aria-label="Subject"
              placeholder={locale === null ? '' : draft.fields.subject || 'Same as default'}
              value={content.subject ?? ''}
              readOnly={readOnly}
              onChange={(event) => set({ subject: event.target.value })}
            />
          </div>
        )}
        <div className="flex flex-wrap items-center gap-2">
          <fieldset className="flex gap-0.5 rounded-md bg-sunken p-0.5 ring-1 ring-line ring-inset">
            <legend className="sr-only">Part</legend>
            {(['html', 'text'] as const).map((value) => (
              <button
                key={value}
                type="button"
                aria-pressed={part === value}
                onClick={() => setPart(value)}
                className={classNames(
                  'h-6 rounded px-2.5 text-xs font-medium',
                  part === value ? 'bg-raised text-ink shadow-panel' : 'text-soft hover:text-ink',
                )}
              >
                {value === 'html' ? 'HTML' : 'Text'}
              </button>
            ))}
          </fieldset>
          {kind === 'template' && <LayoutSelect draft={draft} readOnly={readOnly} />}
          <LocaleSelect draft={draft} locale={locale} onLocale={onLocale} readOnly={readOnly} />
        </div>
        {locale !== null && Object.keys(content).length === 0 && (
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 text-xs text-faint">
            <p>Empty fields use the default language.</p>
            {!readOnly && (
              <Button size="small" onClick={() => set(defaultContent(draft))}>
                Copy default content
              </Button>
            )}
          </div>
        )}
        {part === 'text' && (content.text ?? '') === '' && (
          <p className="text-xs text-faint">If empty, the text part is generated from the HTML.</p>
        )}
      </div>
      <div className="min-h-80 flex-1 border-t border-line">
        <Suspense fallback={<SkeletonPage />}>
          <CodeEditor
            key={field}
            label={part === 'html' ? 'HTML' : 'Text'}
            language={part}
            value={content[part] ?? ''}
            onChange={(text) => set({ [part]: text })}
            marks={marks}
            readOnly={readOnly}
          />
        </Suspense>
      </div>
    </>
  );
}

function defaultContent({ fields: { subject, html, text } }: Draft): Record<string, string> {
  const filled = Object.entries({ subject, html, text }).filter(([, value]) => value !== '');
  return Object.fromEntries(filled);
}

const NO_LAYOUTS: TemplateSummary[] = [];

function useLayouts(): TemplateSummary[] {
  const { api, key } = useApi();
  const { data } = useQuery({
    queryKey: key('templates', 'layout', 'choice'),
    queryFn: () => fetchAllRows(contentApi(api, 'layout').list),
  });
  return data ?? NO_LAYOUTS;
}

function useMarks({ errors, warnings }: Checks, field: string): EditorMark[] {
  return useMemo(
    () => [
      ...errors
        .filter((one) => one.field === field)
        .map((one): EditorMark => ({ ...one, severity: 'error' })),
      ...warnings
        .filter((one) => one.field === field)
        .map((one): EditorMark => ({ ...one, severity: 'warning' })),
    ],
    [errors, warnings, field],
  );
}

function LayoutSelect({ draft, readOnly }: { draft: Draft; readOnly: boolean }) {
  const layouts = useLayouts();
  const { layout } = draft.fields;
  if (layouts.length === 0 && layout === null) return null;
  const known = layouts.some(({ key }) => key === layout);
  return (
    <div className="w-32">
      <Select
        aria-label="Layout"
        value={layout ?? ''}
        disabled={readOnly}
        onChange={(event) => draft.set({ layout: event.target.value || null })}
      >
        <option value="">No layout</option>
        {layouts.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
        {layout !== null && !known && <option value={layout}>{layout}</option>}
      </Select>
    </div>
  );
}

/** BCP 47 allows longer languages, but none is registered: “german” is a mistake for “de”. */
const TAG = /^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i;

/** The tag in its usual case, or undefined if it is not one. */
function languageTag(text: string): string | undefined {
  if (!TAG.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

/** “German (de)”. */
export function languageLabel(tag: string): string {
  const name = languageTag(tag) === undefined ? tag : languageNames.of(tag);
  return name === undefined || name === tag ? tag : `${name} (${tag})`;
}

function LocaleSelect({
  draft,
  locale,
  onLocale,
  readOnly,
}: {
  draft: Draft;
  locale: string | null;
  onLocale: (locale: string | null) => void;
  readOnly: boolean;
}) {
  const [adding, setAdding] = useState(false);
  const [tag, setTag] = useState('');
  const valid = languageTag(tag.trim());
  const locales = Object.keys(draft.fields.locales);
  const add = () => {
    if (valid === undefined) return;
    draft.set({ locales: { [valid]: {}, ...draft.fields.locales } });
    onLocale(valid);
    setAdding(false);
    setTag('');
  };
  if (adding) {
    return (
      <form
        className="flex items-center gap-1.5"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <TextInput
          aria-label="Language tag"
          placeholder="de-AT"
          className="w-24"
          value={tag}
          onChange={(event) => setTag(event.target.value)}
          ref={(input) => input?.focus()}
        />
        <Button type="submit" size="small" disabled={valid === undefined}>
          Add
        </Button>
        <Button size="small" kind="quiet" onClick={() => setAdding(false)}>
          Cancel
        </Button>
      </form>
    );
  }
  return (
    <div className="w-44">
      <Select
        aria-label="Language"
        value={locale ?? ''}
        onChange={(event) => {
          if (event.target.value === '+') setAdding(true);
          else onLocale(event.target.value || null);
        }}
      >
        <option value="">Default language</option>
        {locales.map((one) => (
          <option key={one} value={one}>
            {languageLabel(one)}
          </option>
        ))}
        {!readOnly && <option value="+">Add language…</option>}
      </Select>
    </div>
  );
}

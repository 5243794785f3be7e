import { type ReactNode, useMemo, useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { highlight, type Language, type TokenKind } from '../lib/highlight.ts';
import { CopyIconButton } from './copy.tsx';

/** A block of code with a copy button. Long lines scroll inside the block. */
export function CodeBlock({
  code,
  label,
  language,
  wrap,
  highlighted = [],
}: {
  code: string;
  label: string;
  /** For syntax colors. */
  language?: Language | undefined;
  wrap?: boolean;
  /** Indexes of lines to mark. Only for code that does not wrap. */
  highlighted?: readonly number[];
}) {
  return (
    <div className="group relative min-w-0 rounded-lg border border-line bg-sunken">
      <div className="absolute top-0 right-0 z-1 rounded-tr-lg rounded-bl-lg bg-sunken p-1.5">
        <CopyIconButton text={code} label={`Copy ${label}`} />
      </div>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be reachable by keyboard.
        tabIndex={0}
        className="overflow-x-auto rounded-lg"
      >
        <pre
          className={classNames(
            'relative isolate px-3 py-2.5 pr-10 font-mono text-xs leading-5 text-ink',
            wrap ? 'break-words whitespace-pre-wrap' : 'w-max min-w-full',
          )}
        >
          {highlighted.map((line) => (
            <span
              key={line}
              aria-hidden
              // Behind the text, so that selecting and copying the code is not affected.
              className="absolute inset-x-0 -z-1 h-5 border-l-2 border-accent-ink bg-accent-wash"
              style={{ top: `${0.625 + 1.25 * line}rem` }}
            />
          ))}
          <HighlightedCode code={code} language={language} />
        </pre>
      </section>
    </div>
  );
}

const COLORS: Record<TokenKind, string> = {
  key: 'text-info',
  string: 'text-good',
  number: 'text-plum',
  keyword: 'text-accent-ink',
  comment: 'text-faint',
};

function HighlightedCode({ code, language }: { code: string; language: Language | undefined }) {
  const tokens = useMemo(() => highlight(code, language), [code, language]);
  return tokens.map(({ text, kind }, index) =>
    kind ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity.
      <span key={index} className={COLORS[kind]}>
        {text}
      </span>
    ) : (
      text
    ),
  );
}

export interface Snippet {
  name: string;
  code: string;
  language?: Language;
  /** Snippets of one group share a labeled row of buttons. */
  group?: string;
  /** Indexes of lines to mark. */
  highlighted?: readonly number[];
  /** Shown below the code. */
  note?: ReactNode;
}

/** Examples of which one is shown at a time. */
export function Snippets({ snippets }: { snippets: readonly Snippet[] }) {
  const [chosen, setChosen] = useState(snippets[0]?.name);
  const shown = snippets.find(({ name }) => name === chosen) ?? snippets[0];
  if (!shown) return null;
  const groups = Map.groupBy(snippets, ({ group }) => group);
  return (
    <div className="min-w-0">
      <div className="mb-2 grid gap-1">
        {[...groups].map(([group, members]) => (
          <fieldset key={group ?? ''} className="flex min-w-0 flex-wrap items-center gap-1">
            <legend className="sr-only">{group ?? 'Example language'}</legend>
            {group !== undefined && (
              <span aria-hidden className="w-full text-xs text-faint sm:w-26">
                {group}
              </span>
            )}
            {members.map(({ name }) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === shown.name}
                onClick={() => setChosen(name)}
                className={classNames(
                  'rounded-md px-2 py-0.5 text-xs font-medium whitespace-nowrap transition-colors',
                  name === shown.name
                    ? 'bg-accent-wash text-accent-ink'
                    : 'text-soft hover:bg-sunken',
                )}
              >
                {name}
              </button>
            ))}
          </fieldset>
        ))}
      </div>
      <CodeBlock
        code={shown.code}
        label={`${shown.name} example`}
        language={shown.language}
        {...(shown.highlighted && { highlighted: shown.highlighted })}
      />
      {shown.note !== undefined && <div className="mt-2 text-xs text-soft">{shown.note}</div>}
    </div>
  );
}

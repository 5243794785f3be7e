import { useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { CopyIconButton } from './copy.tsx';

/** A block of code with a copy button. Long lines scroll inside the block. */
export function CodeBlock({ code, label, wrap }: { code: string; label: string; wrap?: boolean }) {
  return (
    <div className="group relative min-w-0 rounded-lg border border-line bg-sunken">
      <div className="absolute top-1.5 right-1.5 rounded-md bg-sunken">
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
            'px-3 py-2.5 pr-10 font-mono text-xs leading-5 text-ink',
            wrap ? 'break-words whitespace-pre-wrap' : 'w-max min-w-full',
          )}
        >
          {code}
        </pre>
      </section>
    </div>
  );
}

export interface Snippet {
  name: string;
  code: string;
}

/** The same example in several languages, one at a time. */
export function Snippets({ snippets }: { snippets: readonly Snippet[] }) {
  const [chosen, setChosen] = useState(snippets[0]?.name);
  const shown = snippets.find(({ name }) => name === chosen) ?? snippets[0];
  if (!shown) return null;
  return (
    <div className="min-w-0">
      <fieldset className="mb-2 flex gap-1">
        <legend className="sr-only">Example language</legend>
        {snippets.map(({ name }) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shown.name}
            onClick={() => setChosen(name)}
            className={classNames(
              'rounded-md px-2 py-0.5 text-xs font-medium transition-colors',
              name === shown.name ? 'bg-accent-wash text-accent-ink' : 'text-soft hover:bg-sunken',
            )}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <CodeBlock code={shown.code} label={`${shown.name} example`} />
    </div>
  );
}

import { classNames } from '../../lib/class-names.ts';
import type { Comparison } from './content-api.ts';
import { asText } from './variables-panel.tsx';

/** The differences between two versions, by field. */
export function TemplateDiff({ comparison }: { comparison: Comparison }) {
  if (comparison.changes.length === 0) {
    return <p className="text-sm text-soft">No changes.</p>;
  }
  return (
    <div className="grid gap-3">
      {comparison.changes.map(({ field, before, after, diff }) => (
        <section
          key={field}
          aria-label={field}
          className="overflow-hidden rounded-lg border border-line"
        >
          <h3 className="border-b border-line bg-sunken px-3 py-1.5 font-mono text-xs font-medium">
            {field}
          </h3>
          <DiffLines lines={diff === null ? plainDiff(before, after) : diff.split('\n')} />
        </section>
      ))}
    </div>
  );
}

function plainDiff(before: unknown, after: unknown): string[] {
  return [
    ...(before === null ? [] : [`-${asText(before)}`]),
    ...(after === null ? [] : [`+${asText(after)}`]),
  ];
}

function DiffLines({ lines }: { lines: string[] }) {
  return (
    <div className="max-h-80 overflow-auto py-1 font-mono text-xs leading-5">
      {lines
        .filter((line) => !line.startsWith('@@'))
        .map((line, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: lines without identity.
            key={index}
            className={classNames(
              'px-3 break-words whitespace-pre-wrap',
              line.startsWith('+') && 'bg-good-wash text-good',
              line.startsWith('-') && 'bg-bad-wash text-bad',
            )}
          >
            {line}
          </div>
        ))}
    </div>
  );
}

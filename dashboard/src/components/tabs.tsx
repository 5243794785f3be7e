import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

/** A value that is not among the tabs, such as that of an old link, shows the first one. */
export function Tabs({
  tabs,
  value,
  onChange,
  label,
  extra,
}: {
  tabs: readonly Tab[];
  value: string;
  onChange: (id: string) => void;
  label: string;
  extra?: ReactNode;
}) {
  return (
    <Radix.Root
      value={tabs.some(({ id }) => id === value) ? value : (tabs[0]?.id ?? value)}
      onValueChange={onChange}
      className="min-w-0"
    >
      <div className="flex flex-wrap items-center gap-x-3 border-b border-line">
        <Radix.List
          aria-label={label}
          className="-mx-1 -mb-px flex min-w-0 flex-1 gap-2 overflow-x-auto"
        >
          {tabs.map((tab) => (
            <Radix.Trigger
              key={tab.id}
              value={tab.id}
              className="h-9 rounded-t border-b-2 border-transparent px-1 text-sm font-medium whitespace-nowrap text-soft outline-offset-[-2px] transition-colors hover:text-ink data-[state=active]:border-accent-ink data-[state=active]:text-ink"
            >
              {tab.label}
            </Radix.Trigger>
          ))}
        </Radix.List>
        {extra}
      </div>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="pt-4 outline-offset-4">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}

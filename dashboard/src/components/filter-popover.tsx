import { ListFilter, X } from 'lucide-react';
import { Popover } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';

/** The less common filters of a list. */
export function FilterPopover({
  children,
}: {
  /** The form, mounted when the popover opens, so edits that were not applied are forgotten. */
  children: (close: () => void) => ReactNode;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button icon={ListFilter}>Filters</Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={12}
          aria-label="More filters"
          className="pop z-40 max-h-(--radix-popover-content-available-height) w-72 overflow-y-auto rounded-xl border border-line bg-raised p-4 shadow-pop"
        >
          {children(() => setOpen(false))}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** An active filter, removed on click. */
export function FilterChip({ onRemove, children }: { onRemove: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      title="Remove this filter"
      onClick={onRemove}
      className="inline-flex h-7 max-w-full items-center gap-1 rounded-full bg-accent-wash pr-1.5 pl-2.5 text-xs font-medium text-accent-ink"
    >
      <span className="truncate">{children}</span>
      <X className="size-3.5 shrink-0" aria-hidden />
    </button>
  );
}

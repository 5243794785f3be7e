import type { LucideIcon } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';
import { useTopmostDialog } from './use-modal.ts';

/** A dropdown menu. It is not modal, because the library's scroll lock needs inline styles. */
export interface MenuProps {
  trigger: ReactNode;
  children: ReactNode;
  align?: 'start' | 'end';
  className?: string;
}

export function Menu({ trigger, children, align = 'end', className }: MenuProps) {
  const topmost = useTopmostDialog();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={topmost}>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className={classNames(
            'pop z-50 max-h-[70vh] min-w-48 overflow-y-auto rounded-lg border border-line bg-raised p-1 text-sm shadow-pop',
            className,
          )}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export interface MenuItemProps {
  icon?: LucideIcon;
  children: ReactNode;
  hint?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
}

const ITEM =
  'flex w-full cursor-default items-center gap-2 rounded-md px-2 py-1.5 outline-none select-none data-disabled:opacity-50';

export function MenuItem({
  icon: Icon,
  children,
  hint,
  danger,
  disabled,
  onSelect,
}: MenuItemProps) {
  return (
    <DropdownMenu.Item
      disabled={disabled ?? false}
      onSelect={onSelect}
      className={classNames(
        ITEM,
        danger
          ? 'text-bad data-highlighted:bg-bad-wash'
          : 'text-ink data-highlighted:bg-accent-wash',
      )}
    >
      {Icon && (
        <Icon className={classNames('size-4 shrink-0', !danger && 'text-faint')} aria-hidden />
      )}
      <span className="min-w-0 flex-1 break-words">{children}</span>
      {hint}
    </DropdownMenu.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return (
    <DropdownMenu.Label className="px-2 pt-1.5 pb-1 text-xs break-words text-faint">
      {children}
    </DropdownMenu.Label>
  );
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="-mx-1 my-1 h-px bg-line" />;
}

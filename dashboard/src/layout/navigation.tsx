import { Link } from '@tanstack/react-router';
import { useSelection } from '../session/selection.ts';
import { useCan } from '../session/session.ts';
import { NAVIGATION_GROUPS } from './navigation-items.ts';

const ENTRY =
  'group flex h-8 items-center gap-2.5 rounded-md px-2 text-sm font-medium text-soft transition-colors hover:bg-panel/60 hover:text-ink data-[status=active]:bg-(--nav-active) data-[status=active]:text-ink data-[status=active]:shadow-panel';

export function Navigation({ onChoose }: { onChoose?: () => void }) {
  const can = useCan();
  const { mode } = useSelection();
  return (
    <nav aria-label="Pages" className="grid gap-4">
      {NAVIGATION_GROUPS.map(({ label, pages, external }) => {
        const open = pages.filter(
          ({ permission, to }) =>
            (permission === undefined || can(permission)) &&
            (to !== '/test-inbox' || mode === 'test'),
        );
        if (open.length === 0) return null;
        return (
          <div key={label ?? ''}>
            {label !== null && (
              <h2 className="mb-1 px-2 text-2xs font-medium tracking-wide text-soft">{label}</h2>
            )}
            <ul className="grid gap-px">
              {open.map(({ to, label: name, icon: Icon, key }) => (
                <li key={to}>
                  <Link
                    to={to}
                    {...(onChoose ? { onClick: onChoose } : {})}
                    activeOptions={{ exact: to === '/', includeSearch: false }}
                    title={`g then ${key}`}
                    className={ENTRY}
                  >
                    <Icon
                      className="size-4 shrink-0 text-faint group-data-[status=active]:text-accent-ink"
                      aria-hidden
                    />
                    {name}
                  </Link>
                </li>
              ))}
              {external && (
                <li>
                  <a href={external.href} className={ENTRY}>
                    <external.icon className="size-4 shrink-0 text-faint" aria-hidden />
                    {external.label}
                  </a>
                </li>
              )}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

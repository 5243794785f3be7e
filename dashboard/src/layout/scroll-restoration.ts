import { useRouter, useRouterState } from '@tanstack/react-router';
import { type MouseEvent, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

/**
 * Scrolling and focus of the page in `scroller`. A new page starts at the top. Going back or forward
 * returns to where the page was left: the same position, and the same link has the focus.
 */

interface LeftAt {
  top: number;
  /** Of the link that was followed. */
  href: string | null;
}

/** By history entry. In memory only, because after a reload the lists start over, too. */
const leftAt = new Map<string, LeftAt>();

/** The path of each history entry, by its position. */
const paths = new Map<number, string>();

/** A list that has to be loaded again may take a while. */
const RESTORE_MS = 3_000;

export function useScrollRestoration(scroller: RefObject<HTMLElement | null>): void {
  // The resolved location changes when the new page is in the document.
  const path = useRouterState({
    select: ({ location, resolvedLocation = location }) => resolvedLocation.pathname,
  });
  const entry = useRouterState({
    select: ({ location, resolvedLocation = location }) => resolvedLocation.state.__TSR_key ?? '',
  });
  const position = useRouterState({
    select: ({ location, resolvedLocation = location }) => resolvedLocation.state.__TSR_index,
  });
  paths.set(position, path);
  const shown = useRef('');
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const remember = (change: Partial<LeftAt>) => {
      const known = leftAt.get(shown.current) ?? { top: 0, href: null };
      leftAt.set(shown.current, { ...known, ...change });
    };
    const onScroll = () => remember({ top: element.scrollTop });
    const onClick = ({ target }: Event) => {
      const link = (target as Element).closest('a[href]');
      if (link) remember({ href: link.getAttribute('href') });
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('click', onClick, { capture: true });
    return () => {
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('click', onClick, { capture: true });
    };
  }, [scroller]);
  // In the commit of the new page: a scroll event that it causes must not be taken for one of the old.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another page changes the position.
  useLayoutEffect(() => {
    const element = scroller.current;
    const known = leftAt.get(entry);
    shown.current = entry;
    if (element && known) return restore(element, known);
    // scrollTo may return a promise, which an effect must not return.
    void element?.scrollTo(0, 0);
    return undefined;
  }, [path]);
  // A changed filter replaces the entry of the same page, which stays where it is.
  useLayoutEffect(() => {
    const position = leftAt.get(shown.current);
    if (position && !leftAt.has(entry)) leftAt.set(entry, position);
    shown.current = entry;
  }, [entry]);
}

/**
 * For a link to the list that a page belongs to: if that list is where the user came from, the link
 * goes back, so that its filters and position are kept, too.
 */
export function useBackLink(to: string | undefined): (event: MouseEvent) => void {
  const { history } = useRouter();
  return (event) => {
    const isPlainClick = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!isPlainClick || paths.get(history.location.state.__TSR_index - 1) !== to) return;
    event.preventDefault();
    history.back();
  };
}

/** Tries with each frame, until the content is there or the user takes over. */
function restore(element: HTMLElement, { top, href }: LeftAt): () => void {
  const endsAt = performance.now() + RESTORE_MS;
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const type of INPUTS) removeEventListener(type, stop, { capture: true });
  };
  const attempt = () => {
    element.scrollTop = top;
    const arrived = Math.abs(element.scrollTop - top) < 1;
    const link = href === null ? null : element.querySelector(`a[href="${CSS.escape(href)}"]`);
    if (arrived && link instanceof HTMLElement) link.focus({ preventScroll: true });
    if ((arrived && (link || href === null)) || performance.now() > endsAt) stop();
    else frame = requestAnimationFrame(attempt);
  };
  for (const type of INPUTS) addEventListener(type, stop, { capture: true });
  attempt();
  return stop;
}

const INPUTS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

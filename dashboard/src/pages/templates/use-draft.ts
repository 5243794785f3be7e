import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useHere } from '../../api/here.ts';
import { sessionEnded } from '../../api/session-ended.ts';
import { type ContentKind, contentApi, type Template, type TemplateChange } from './content-api.ts';

/**
 * The draft while somebody writes. What is typed is kept here and saved in pauses; a save that fails
 * loses nothing and is tried again, by hand or after signing in again. `saved` counts the saves, so
 * that previews know when to look again.
 */
export interface Draft {
  /** The draft as the server has it, with its inferred variables. */
  stored: Template;
  fields: DraftFields;
  set: (change: Partial<DraftFields>) => void;
  state: 'saved' | 'waiting' | 'saving' | 'failed';
  error: unknown;
  saves: number;
  /** Rejects with the reason when it cannot be saved; `state` tells it too. */
  saveNow: () => Promise<void>;
  /** Takes what the server has, after something else changed it. */
  reload: (stored: Template) => void;
  /** Somebody is about to go elsewhere, and what they wrote cannot be saved. */
  leaving: { stay: () => void; leave: () => void } | undefined;
}

export interface DraftFields {
  name: string;
  subject: string;
  html: string;
  text: string;
  layout: string | null;
  from: Template['from'];
  locales: Template['locales'];
  variables: Template['variables'];
}

const PAUSE_MS = 600;

export function useDraft(kind: ContentKind, loaded: Template): Draft {
  const { api } = useHere();
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [fields, setFields] = useState(() => fieldsOf(loaded));
  const [state, setState] = useState<Draft['state']>('saved');
  const [error, setError] = useState<unknown>();
  const [saves, setSaves] = useState(0);
  const pending = useRef<Partial<DraftFields>>({});
  const saving = useRef<Promise<void>>(undefined);

  const save = useCallback(async (): Promise<void> => {
    // One after the other: two saves at once could land in the wrong order.
    while (saving.current) await saving.current.catch(() => {});
    const change = pending.current;
    if (isEmpty(change)) return;
    pending.current = {};
    setState('saving');
    saving.current = contentApi(api, kind)
      .change(loaded.key, changeOf(change))
      .then(
        (answer) => {
          setStored(answer);
          setSaves((count) => count + 1);
          setError(undefined);
          setState(isEmpty(pending.current) ? 'saved' : 'waiting');
          void queries.invalidateQueries({ queryKey: ['templates'] });
        },
        (problem) => {
          pending.current = { ...change, ...pending.current };
          setError(problem);
          setState('failed');
          throw problem;
        },
      )
      .finally(() => {
        saving.current = undefined;
      });
    return saving.current;
  }, [api, kind, loaded.key, queries]);
  const trySave = useCallback(() => void save().catch(() => {}), [save]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: every change starts the pause anew.
  useEffect(() => {
    if (state !== 'waiting') return;
    const timer = setTimeout(trySave, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [state, fields, trySave]);

  useEffect(
    () =>
      sessionEnded.subscribe(() => {
        if (!sessionEnded.get()) trySave();
      }),
    [trySave],
  );

  const reload = useCallback((fresh: Template) => {
    setStored(fresh);
    setFields({ ...fieldsOf(fresh), ...pending.current });
    setSaves((count) => count + 1);
  }, []);

  // Written on in another tab or by somebody else, while nobody writes here: going on from the text of
  // before would undo theirs.
  useEffect(() => {
    const idle = !saving.current && isEmpty(pending.current);
    if (idle && loaded.updated_at > stored.updated_at) reload(loaded);
  }, [loaded, stored, reload]);

  const blocker = useBlocker({
    // Whoever comes back at once must find what they wrote, so the way on is free after the save.
    shouldBlockFn: () =>
      save().then(
        () => false,
        () => true,
      ),
    enableBeforeUnload: () => !isEmpty(pending.current),
    withResolver: true,
  });

  // To another workspace no address leads, and nothing can hold somebody back.
  useEffect(() => trySave, [trySave]);

  return {
    stored,
    fields,
    state,
    error,
    saves,
    saveNow: save,
    leaving:
      blocker.status === 'blocked'
        ? {
            stay: blocker.reset,
            leave: () => {
              pending.current = {};
              blocker.proceed();
            },
          }
        : undefined,
    set: (change) => {
      pending.current = { ...pending.current, ...change };
      setFields((now) => ({ ...now, ...change }));
      setState('waiting');
    },
    reload,
  };
}

function isEmpty(change: Partial<DraftFields>): boolean {
  return Object.keys(change).length === 0;
}

function fieldsOf(template: Template): DraftFields {
  return {
    name: template.name,
    subject: template.subject ?? '',
    html: template.html ?? '',
    text: template.text ?? '',
    layout: template.layout ?? null,
    from: template.from ?? null,
    locales: template.locales,
    variables: template.variables ?? [],
  };
}

/** An emptied text is none: the text part is then made from the html. */
function changeOf(fields: Partial<DraftFields>): TemplateChange {
  const change: Record<string, unknown> = { ...fields };
  for (const name of ['subject', 'html', 'text']) {
    if (change[name] === '') change[name] = null;
  }
  // Only a name that people can read: an empty one is a slip while typing.
  if (change.name === '') delete change.name;
  return change as TemplateChange;
}

import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { toProblem } from '../../api/problem.ts';
import { sessionEnded } from '../../api/session-signals.ts';
import { useApi } from '../../api/use-api.ts';
import { addLeaveGuard } from '../../session/leave-guards.ts';
import { type ContentKind, contentApi, type Template } from './content-api.ts';
import {
  conflictingFields,
  type DraftFields,
  type FieldName,
  isEmpty,
  toDraftFields,
  toTemplateChange,
} from './draft-fields.ts';

/**
 * A draft with autosave. Edits are kept locally and saved after a pause in typing; a failed save
 * loses nothing and is retried manually or after signing in again. `saves` counts the saves, so that
 * previews know when to refresh. Concurrent changes by others are merged by field; if both changed
 * the same field, nothing is saved until the user resolves the conflict.
 */
export interface Draft {
  /** The draft on the server, with its inferred variables. */
  stored: Template;
  fields: DraftFields;
  set: (change: Partial<DraftFields>) => void;
  state: 'saved' | 'waiting' | 'saving' | 'failed';
  error: unknown;
  saves: number;
  /** Resolves to the stored draft; rejects if it cannot be saved. */
  saveNow: () => Promise<Template>;
  /** Merges a newer version from the server. */
  reload: (stored: Template) => unknown;
  conflict: Conflict | undefined;
  /** Set when the user is leaving and the changes cannot be saved. */
  leaving: { stay: () => void; leave: () => void } | undefined;
}

/** Someone else saved different content for fields with unsaved edits. */
export interface Conflict {
  theirs: Template;
  fields: FieldName[];
  takeTheirs: () => Promise<void>;
  keepMine: () => void;
}

const PAUSE_MS = 600;

export function useDraft(kind: ContentKind, loaded: Template): Draft {
  const { api } = useApi();
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [fields, setFields] = useState(() => toDraftFields(loaded));
  const [state, setState] = useState<Draft['state']>('saved');
  const [error, setError] = useState<unknown>();
  const [saves, setSaves] = useState(0);
  const [conflict, setConflict] = useState<Pick<Conflict, 'theirs' | 'fields'>>();
  // The version `fields` is based on. Saves send its ETag and fail if someone else saved first.
  const base = useRef(loaded);
  const pending = useRef<Partial<DraftFields>>({});
  const saving = useRef<Promise<Template>>(undefined);

  const rebase = useCallback((now: Template) => {
    base.current = now;
    setStored(now);
    setFields({ ...toDraftFields(now), ...pending.current });
    setSaves((count) => count + 1);
    setConflict(undefined);
  }, []);

  /** Returns false if there is a conflict to resolve first. */
  const mergeRemote = useCallback(
    (theirs: Template): boolean => {
      const both = conflictingFields(
        toDraftFields(base.current),
        pending.current,
        toDraftFields(theirs),
      );
      if (both.length === 0) rebase(theirs);
      else setConflict({ theirs, fields: both });
      return both.length === 0;
    },
    [rebase],
  );

  const save = useCallback(async (): Promise<Template> => {
    // Serialize saves: concurrent ones could arrive in the wrong order.
    while (saving.current) await saving.current.catch(() => {});
    if (isEmpty(pending.current)) return base.current;
    setState('saving');
    saving.current = storePending(contentApi(api, kind), loaded.key, base, pending, mergeRemote)
      .then(
        (saved) => {
          setStored(saved);
          setSaves((count) => count + 1);
          setError(undefined);
          setState(isEmpty(pending.current) ? 'saved' : 'waiting');
          void queries.invalidateQueries({ queryKey: ['templates'] });
          return saved;
        },
        (problem) => {
          setError(problem);
          setState('failed');
          throw problem;
        },
      )
      .finally(() => {
        saving.current = undefined;
      });
    return saving.current;
  }, [api, kind, loaded.key, queries, mergeRemote]);
  const trySave = useCallback(() => void save().catch(() => {}), [save]);

  useAutosave(state, fields, trySave);

  // Changed in another tab or by someone else: merge, because saving the old text would undo it.
  useEffect(() => {
    if (!saving.current && loaded.updated_at > stored.updated_at) mergeRemote(loaded);
  }, [loaded, stored, mergeRemote]);

  const leaving = useSaveBeforeLeaving(save, pending);

  return {
    stored,
    fields,
    state,
    error,
    saves,
    saveNow: save,
    conflict: conflict && {
      ...conflict,
      takeTheirs: async () => {
        while (saving.current) await saving.current.catch(() => {});
        pending.current = {};
        rebase(conflict.theirs);
        setState('saved');
      },
      keepMine: () => {
        rebase(conflict.theirs);
        trySave();
      },
    },
    leaving,
    set: (change) => {
      pending.current = { ...pending.current, ...change };
      setFields((now) => ({ ...now, ...change }));
      setState('waiting');
    },
    reload: mergeRemote,
  };
}

/**
 * Saves the pending changes of the draft. If someone else saved first, their changes are merged and
 * it is tried again; a conflict ends it, and the changes stay pending.
 */
async function storePending(
  content: ReturnType<typeof contentApi>,
  key: string,
  base: RefObject<Template>,
  pending: RefObject<Partial<DraftFields>>,
  mergeRemote: (theirs: Template) => boolean,
): Promise<Template> {
  const change = pending.current;
  if (isEmpty(change)) return base.current;
  pending.current = {};
  try {
    base.current = await content.change(key, toTemplateChange(change), base.current.etag);
    return base.current;
  } catch (problem) {
    pending.current = { ...change, ...pending.current };
    if (toProblem(problem).code !== 'draft_changed') throw problem;
    if (!mergeRemote(await content.get(key))) throw problem;
    return storePending(content, key, base, pending, mergeRemote);
  }
}

/** Saves after a pause in typing, and when the user has signed in again. */
function useAutosave(state: Draft['state'], fields: DraftFields, trySave: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change restarts the pause.
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
}

/** Saves when the user leaves the page or signs out, and asks what to do if that fails. */
function useSaveBeforeLeaving(
  save: () => Promise<Template>,
  pending: RefObject<Partial<DraftFields>>,
): Draft['leaving'] {
  const blocker = useBlocker({
    // Navigation continues after the save, so that coming back shows the saved text.
    shouldBlockFn: () =>
      save().then(
        () => false,
        () => true,
      ),
    enableBeforeUnload: () => !isEmpty(pending.current),
    withResolver: true,
  });

  const [resolveLeave, setResolveLeave] = useState<(go: boolean) => void>();
  useEffect(
    () =>
      addLeaveGuard(() =>
        save().then(
          () => true,
          () => new Promise<boolean>((resolve) => setResolveLeave(() => resolve)),
        ),
      ),
    [save],
  );
  const finishLeaving = (go: boolean) => {
    if (go) pending.current = {};
    setResolveLeave(undefined);
    resolveLeave?.(go);
    if (blocker.status !== 'blocked') return;
    if (go) blocker.proceed();
    else blocker.reset();
  };
  if (!resolveLeave && blocker.status !== 'blocked') return undefined;
  return { stay: () => finishLeaving(false), leave: () => finishLeaving(true) };
}

import type { Pool } from '../db/connections/pool.ts';
import { WeightedCache } from '../lib/memory/weighted-cache.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { eventLoopTurns } from '../lib/scheduling/turns.ts';
import type { Clock } from '../lib/time/clock.ts';
import { CompiledTemplate } from './compile-template.ts';
import type { ResolvedSources, StoredContent, VersionSelector } from './content/stored-content.ts';
import { readTemplateParts, type TemplatePart } from './template-dependencies-store.ts';
import type { TemplateResolver, TemplateVersionRef } from './template-resolver.ts';
import { findTemplate } from './template-store.ts';

/**
 * Resolves the template of a send: which version, with which layout and partials, compiled and ready
 * to render. Two things are cached separately. Which versions belong together is cached until a
 * notification reports a change to the workspace's templates. Compiled templates are keyed by those
 * versions and never become stale, so publishing one template costs the others a small read and no
 * parsing.
 */

const LOOKUPS_MAX = 50_000;
/** In characters; a compiled template takes several bytes for each. */
const WEIGHT_MAX = 48 * 1024 * 1024;

export class TemplateCache implements TemplateResolver {
  readonly #pool: Pool;
  readonly #lookups: NotifyCache<CachedLookup>;
  readonly #compiled = new WeightedCache<CompiledTemplate>(WEIGHT_MAX);
  readonly #compiling = new Map<string, Promise<CompiledTemplate>>();

  constructor(parts: { pool: Pool; clock: Clock; maxAgeMs: () => number }) {
    this.#pool = parts.pool;
    this.#lookups = new NotifyCache({ ...parts, entriesMax: LOOKUPS_MAX });
  }

  resolve(
    { workspaceId }: { workspaceId: string },
    ref: TemplateVersionRef,
  ): CompiledTemplate | Promise<CompiledTemplate> {
    const name = `${ref.key} ${ref.version ?? ''}`;
    const lookup = this.#lookups.get(workspaceId, name, () => this.#lookUp(workspaceId, ref));
    if (lookup instanceof Promise) {
      return lookup.then((read) => this.#find(workspaceId, ref, read));
    }
    return this.#find(workspaceId, ref, lookup);
  }

  /** Call when a template, layout or partial of the workspace has changed. */
  invalidateWorkspace(workspaceId: string): void {
    this.#lookups.invalidate(workspaceId);
  }

  invalidateAll(): void {
    this.#lookups.invalidateAll();
  }

  async #lookUp(workspaceId: string, ref: TemplateVersionRef): Promise<CachedLookup> {
    const parts = await this.#read(workspaceId, ref, false);
    if (parts.length > 0) return { name: versionFingerprint(parts) };
    return { absent: await this.#notFoundDetail(workspaceId, ref) };
  }

  #find(
    workspaceId: string,
    ref: TemplateVersionRef,
    lookup: CachedLookup,
  ): CompiledTemplate | Promise<CompiledTemplate> {
    if ('absent' in lookup) throw new RefusedError('template_not_found', lookup.absent);
    const known = this.#compiled.get(lookup.name);
    if (known) return known;
    const running = this.#compiling.get(lookup.name);
    if (running) return running;
    const compiling = this.#compile(workspaceId, ref).finally(() =>
      this.#compiling.delete(lookup.name),
    );
    this.#compiling.set(lookup.name, compiling);
    return compiling;
  }

  /** Caches the result under the versions just read, which may be newer than the ones looked up. */
  async #compile(workspaceId: string, ref: TemplateVersionRef): Promise<CompiledTemplate> {
    const parts = await this.#read(workspaceId, ref, true);
    if (parts.length === 0) {
      throw new RefusedError('template_not_found', await this.#notFoundDetail(workspaceId, ref));
    }
    // Compiling a large template takes hundreds of milliseconds.
    await eventLoopTurns.next(workspaceId);
    const compiled = new CompiledTemplate(resolveSources(parts));
    this.#compiled.set(versionFingerprint(parts), compiled, compiled.weight);
    return compiled;
  }

  #read(
    workspaceId: string,
    { key, version }: TemplateVersionRef,
    withContent: boolean,
  ): Promise<TemplatePart[]> {
    const ref = { workspaceId, kind: 'template' as const, key };
    const allowDraftDependencies = version === 'draft';
    return readTemplateParts(this.#pool, ref, {
      version: version ?? null,
      withContent,
      allowDraftDependencies,
    });
  }

  async #notFoundDetail(
    workspaceId: string,
    { key, version }: TemplateVersionRef,
  ): Promise<string> {
    const known = await findTemplate(this.#pool, { workspaceId, kind: 'template', key });
    if (!known) return `There is no template "${key}".`;
    if (version !== undefined) return `The template "${key}" has no version ${version}.`;
    return `The template "${key}" is not published yet.`;
  }
}

type CachedLookup = { name: string } | { absent: string };

/** Uses ids instead of keys, because a deleted and recreated template is a different one. */
function versionFingerprint(parts: readonly TemplatePart[]): string {
  return parts
    .map(({ id, version, revision }) => `${id}${version === null ? `r${revision}` : `v${version}`}`)
    .join(' ');
}

/** Assembles the sources of a template from its parts. */
export function resolveSources(parts: readonly TemplatePart[]): ResolvedSources {
  const [root, ...dependencies] = parts as [TemplatePart, ...TemplatePart[]];
  const template = root.content as StoredContent;
  const layout = dependencies.find(({ kind }) => kind === 'layout');
  if (template.layout !== null && !layout) {
    throw new RefusedError(
      'template_not_found',
      `The template "${root.key}" uses the layout "${template.layout}", which does not exist or is not published.`,
    );
  }
  return {
    key: root.key,
    version: root.version ?? ('draft' satisfies VersionSelector),
    template,
    layout: layout && { key: layout.key, content: layout.content as StoredContent },
    partials: partialsIn(dependencies),
  };
}

export function partialsIn(parts: readonly TemplatePart[]): Map<string, StoredContent> {
  return new Map(
    parts
      .filter(({ kind }) => kind === 'partial')
      .map(({ key, content }) => [key, content as StoredContent]),
  );
}

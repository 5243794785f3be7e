import type { Pool } from '../db/pool.ts';
import { Believed } from '../lib/believed.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { WeightedCache } from '../lib/weighted-cache.ts';
import { CompiledTemplate } from './compile-template.ts';
import { type Ingredient, readRecipe } from './recipe-store.ts';
import type { Recipe, StoredContent, VersionName } from './stored-content.ts';
import type { TemplateSource, WantedTemplate } from './template-source.ts';
import { findTemplate } from './template-store.ts';

/**
 * What every send from a template asks: which version is it, with which layout and partials, ready
 * to render. Two things are remembered apart. Which versions belong together is believed until a
 * notice says that the workspace's templates changed. What they compile to never changes, so a
 * publication costs the workspace's other templates one small read and no parsing.
 */

const NAMES_MAX = 50_000;
/** Characters; a compiled template takes several bytes for each. */
const WEIGHT_MAX = 48 * 1024 * 1024;

export class TemplateDirectory implements TemplateSource {
  readonly #pool: Pool;
  readonly #known: Believed<Identity>;
  readonly #compiled = new WeightedCache<CompiledTemplate>(WEIGHT_MAX);
  readonly #compiling = new Map<string, Promise<CompiledTemplate>>();

  constructor(parts: { pool: Pool; clock: Clock; noticesArrive: () => boolean }) {
    this.#pool = parts.pool;
    this.#known = new Believed({ ...parts, entriesMax: NAMES_MAX });
  }

  resolve(
    { workspaceId }: { workspaceId: string },
    wanted: WantedTemplate,
  ): CompiledTemplate | Promise<CompiledTemplate> {
    const name = `${wanted.key} ${wanted.version ?? ''}`;
    const identity = this.#known.get(workspaceId, name, () => this.#identify(workspaceId, wanted));
    if (identity instanceof Promise) {
      return identity.then((read) => this.#find(workspaceId, wanted, read));
    }
    return this.#find(workspaceId, wanted, identity);
  }

  /** Some template, layout or partial of this workspace changed. */
  forgetWorkspace(workspaceId: string): void {
    this.#known.forget(workspaceId);
  }

  forgetAll(): void {
    this.#known.forgetAll();
  }

  async #identify(workspaceId: string, wanted: WantedTemplate): Promise<Identity> {
    const ingredients = await this.#read(workspaceId, wanted, false);
    if (ingredients.length > 0) return { name: identityOf(ingredients) };
    return { absent: await this.#absence(workspaceId, wanted) };
  }

  #find(
    workspaceId: string,
    wanted: WantedTemplate,
    identity: Identity,
  ): CompiledTemplate | Promise<CompiledTemplate> {
    if ('absent' in identity) throw new RefusedError('template_not_found', identity.absent);
    const known = this.#compiled.get(identity.name);
    if (known) return known;
    const running = this.#compiling.get(identity.name);
    if (running) return running;
    const compiling = this.#compile(workspaceId, wanted).finally(() =>
      this.#compiling.delete(identity.name),
    );
    this.#compiling.set(identity.name, compiling);
    return compiling;
  }

  /** Kept under the name of what was read now, which may be newer than what was asked for. */
  async #compile(workspaceId: string, wanted: WantedTemplate): Promise<CompiledTemplate> {
    const ingredients = await this.#read(workspaceId, wanted, true);
    if (ingredients.length === 0) {
      throw new RefusedError('template_not_found', await this.#absence(workspaceId, wanted));
    }
    const compiled = new CompiledTemplate(recipeOf(ingredients));
    this.#compiled.set(identityOf(ingredients), compiled, compiled.weight);
    return compiled;
  }

  #read(
    workspaceId: string,
    { key, version }: WantedTemplate,
    withContent: boolean,
  ): Promise<Ingredient[]> {
    const ref = { workspaceId, kind: 'template' as const, key };
    const draftsUsed = version === 'draft';
    return readRecipe(this.#pool, ref, { version: version ?? null, withContent, draftsUsed });
  }

  async #absence(workspaceId: string, { key, version }: WantedTemplate): Promise<string> {
    const known = await findTemplate(this.#pool, { workspaceId, kind: 'template', key });
    if (!known) return `There is no template "${key}".`;
    if (version !== undefined) return `The template "${key}" has no version ${version}.`;
    return `The template "${key}" is not published yet.`;
  }
}

type Identity = { name: string } | { absent: string };

/** Ids, not keys: a template that was deleted and made again is another one. */
function identityOf(ingredients: readonly Ingredient[]): string {
  return ingredients
    .map(({ id, version, revision }) => `${id}${version === null ? `r${revision}` : `v${version}`}`)
    .join(' ');
}

/** Puts together what was read for one template. */
export function recipeOf(ingredients: readonly Ingredient[]): Recipe {
  const [root, ...used] = ingredients as [Ingredient, ...Ingredient[]];
  const template = root.content as StoredContent;
  const layout = used.find(({ kind }) => kind === 'layout');
  if (template.layout !== null && !layout) {
    throw new RefusedError(
      'template_not_found',
      `The template "${root.key}" has the layout "${template.layout}", which does not exist or is not published.`,
    );
  }
  return {
    key: root.key,
    version: root.version ?? ('draft' satisfies VersionName),
    template,
    layout: layout && { key: layout.key, content: layout.content as StoredContent },
    partials: partialsAmong(used),
  };
}

export function partialsAmong(ingredients: readonly Ingredient[]): Map<string, StoredContent> {
  return new Map(
    ingredients
      .filter(({ kind }) => kind === 'partial')
      .map(({ key, content }) => [key, content as StoredContent]),
  );
}

import { ApiKeys, type KeyIssuer, operatorIssuer } from '../accounts/api-keys.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import { decodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { chooseWorkspace } from './choose-workspace.ts';
import type { Given } from './command.ts';
import type { OpenParts } from './house.ts';

/** The key whose id is the first argument, in the workspace that was named or in any. */
export async function findKeyAnywhere(
  given: Given,
  parts: OpenParts,
): Promise<{ apiKeys: ApiKeys; maker: KeyIssuer; id: string }> {
  const text = given.arguments[0] ?? '';
  const id = decodeId('key', text);
  const apiKeys = new ApiKeys(parts);
  const places =
    given.option('workspace') === undefined
      ? await new Workspaces(parts).list()
      : [await chooseWorkspace(given, parts)];
  for (const workspace of id === undefined ? [] : places) {
    const maker = operatorIssuer(workspace.id);
    if (id !== undefined && (await exists(apiKeys, maker, id))) return { apiKeys, maker, id };
  }
  throw new RefusedError(
    'not_found',
    `There is no API key "${text}". "postrider keys list" shows the ids.`,
  );
}

async function exists(apiKeys: ApiKeys, maker: KeyIssuer, id: string): Promise<boolean> {
  try {
    await apiKeys.get(maker, id);
    return true;
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

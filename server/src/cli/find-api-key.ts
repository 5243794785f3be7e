import { ApiKeys, type KeyIssuer, operatorIssuer } from '../accounts/api-keys.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import { decodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { chooseWorkspace } from './choose-workspace.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';
import { noteWorkspace } from './running-command.ts';

/** Finds the API key given as the first argument, in the given workspace or in any. */
export async function findApiKey(
  input: CommandInput,
  parts: DatabaseContext,
): Promise<{ apiKeys: ApiKeys; issuer: KeyIssuer; id: string }> {
  const text = input.arguments[0] ?? '';
  const id = decodeId('key', text);
  const apiKeys = new ApiKeys(parts);
  const workspaces =
    input.option('workspace') === undefined
      ? await new Workspaces(parts).list()
      : [await chooseWorkspace(input, parts)];
  for (const workspace of id === undefined ? [] : workspaces) {
    const issuer = operatorIssuer(workspace.id);
    if (id === undefined || !(await exists(apiKeys, issuer, id))) continue;
    await noteWorkspace(workspace.id);
    return { apiKeys, issuer, id };
  }
  throw new RefusedError(
    'not_found',
    `API key "${text}" not found. Run "postrider keys list" to see the ids.`,
  );
}

async function exists(apiKeys: ApiKeys, issuer: KeyIssuer, id: string): Promise<boolean> {
  try {
    await apiKeys.get(issuer, id);
    return true;
  } catch (error) {
    if (error instanceof RefusedError) return false;
    throw error;
  }
}

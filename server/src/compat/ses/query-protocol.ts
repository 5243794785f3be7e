import { escapeHtml } from '../../lib/html/escape-html.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { isObject } from '../json-object.ts';

/**
 * Requests and responses of AWS's Query protocol
 * (https://smithy.io/2.0/aws/protocols/aws-query-protocol.html): a form in which `Destination.ToAddresses.member.1`
 * is an entry of a list in an object, and XML.
 */

type Tree = Map<string, Tree | string>;

const NAME = /^[A-Za-z0-9]{1,64}(?:\.[A-Za-z0-9]{1,64}){0,9}$/;
const LIST = 'member';
/** Written as an empty value. */
const EMPTY_LIST = /(?:Addresses|Destinations|Identities|Tags)$/;

/** The fields of a form as objects and lists. */
export function readQueryForm(form: Record<string, unknown>): Record<string, unknown> {
  const root: Tree = new Map();
  for (const [field, value] of Object.entries(form)) {
    if (value === '' && EMPTY_LIST.test(field)) continue;
    if (typeof value !== 'string' || !NAME.test(field) || !put(root, field.split('.'), value)) {
      const detail =
        'Each parameter must have a name like Destination.ToAddresses.member.1 and one value.';
      throw invalidFields([{ pointer: `/${field}`, code: 'invalid_format', detail }]);
    }
  }
  return toValue(root, '') as Record<string, unknown>;
}

function put(root: Tree, path: readonly string[], value: string): boolean {
  let tree = root;
  for (const name of path.slice(0, -1)) {
    const found: Tree | string = tree.get(name) ?? new Map();
    if (typeof found === 'string') return false;
    tree.set(name, found);
    tree = found;
  }
  const last = path.at(-1) as string;
  if (tree.has(last)) return false;
  tree.set(last, value);
  return true;
}

function toValue(tree: Tree, at: string): unknown {
  const list = tree.get(LIST);
  if (tree.size === 1 && list instanceof Map) return toList(list, at);
  const entries = [...tree].map(([name, value]) => [
    name,
    typeof value === 'string' ? value : toValue(value, `${at}/${name}`),
  ]);
  return Object.fromEntries(entries);
}

function toList(members: Tree, at: string): unknown[] {
  const sorted = [...members].sort(([a], [b]) => Number(a) - Number(b));
  return sorted.map(([number, value], index) => {
    if (number !== String(index + 1)) {
      const detail = `The entries of a list are numbered from ${LIST}.1, without gaps.`;
      throw invalidFields([{ pointer: at, code: 'invalid_format', detail }]);
    }
    return typeof value === 'string' ? value : toValue(value, `${at}/${index}`);
  });
}

export const XML = 'text/xml; charset=utf-8';
const NAMESPACE = 'http://ses.amazonaws.com/doc/2010-12-01/';

export function writeResult(action: string, result: object, requestId: string): string {
  const content = element(`${action}Result`, result);
  const metadata = element('ResponseMetadata', { RequestId: requestId });
  return `<${action}Response xmlns="${NAMESPACE}">${content}${metadata}</${action}Response>`;
}

export function writeError(
  { code, message, isOurs }: { code: string; message: string; isOurs: boolean },
  requestId: string,
): string {
  const error = { Type: isOurs ? 'Receiver' : 'Sender', Code: code, Message: message };
  return `<ErrorResponse xmlns="${NAMESPACE}">${element('Error', error)}${element('RequestId', requestId)}</ErrorResponse>`;
}

/** A Map becomes entries with a key and a value. */
function element(name: string, value: unknown): string {
  return value === undefined ? '' : `<${name}>${contentOf(value)}</${name}>`;
}

function contentOf(value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => element(LIST, one)).join('');
  if (value instanceof Map) {
    return [...value].map(([key, one]) => element('entry', { key, value: one })).join('');
  }
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, one]) => element(name, one))
      .join('');
  }
  return escapeHtml(String(value).replace(NOT_IN_XML, '\uFFFD'));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no form for these.
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

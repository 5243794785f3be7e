/** Calls the API as any client does, over HTTP. */

export interface ApiAnswer {
  status: number;
  json: unknown;
}

const TIMEOUT_MS = 20_000;

/** An error if there is no response: the outcome is unknown then. */
export async function callApi(
  url: string,
  key: string,
  method: string,
  path: string,
  options: { body?: object; idempotencyKey?: string } = {},
): Promise<ApiAnswer | Error> {
  const { body, idempotencyKey } = options;
  try {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, json: await response.json() };
  } catch (error) {
    return error as Error;
  }
}

import net from 'node:net';

export interface RawResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** Sends the bytes of a request (as Latin-1) as they are, which no HTTP client does, until the server closes. */
export async function sendRaw(url: string, request: string): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  socket.write(request, 'latin1');
  const text = Buffer.concat(await socket.toArray()).toString();
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}

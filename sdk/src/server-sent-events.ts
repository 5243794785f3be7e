/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  id: string;
  data: string;
}

/**
 * Reads server-sent events from the body of a response, as the HTML standard defines them. Fields
 * other than `id` and `data` are ignored. `onBytes` is called for everything that arrives, comments
 * included.
 */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let buffered = '';
  let id = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const lines = (buffered + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      buffered = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { id, data: data.join('\n') };
          data = [];
        }
        const [, field, text = ''] = /^(id|data)(?::(?: )?(.*))?$/s.exec(line) ?? [];
        if (field === 'id') id = text;
        if (field === 'data') data.push(text);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

export const SENDER_DOMAIN = 'bench.example';

/** The message that all benchmarks send: about 2 KB of HTML, like a receipt. */
export function sampleHtml(bytes = 2048): string {
  const line =
    '<tr><td style="padding:8px 0">Coffee beans, dark roast</td><td align="right">12.50</td></tr>\n';
  const head = '<html><body><h1>Your receipt</h1><p>Thank you for your order.</p><table>\n';
  const tail =
    '</table><p><a href="https://example.com/orders/1">See the order</a></p></body></html>';
  const count = Math.max(1, Math.floor((bytes - head.length - tail.length) / line.length));
  return head + line.repeat(count) + tail;
}

export function sampleSend(to: string, from = `shop@${SENDER_DOMAIN}`, bytes?: number): object {
  const html = sampleHtml(bytes);
  return { to: { email: to }, from: { email: from }, subject: 'Your receipt', html };
}

import type { Schema } from '../../api/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Section } from '../../components/page.tsx';
import { explainAuthentication } from './authentication-texts.ts';

/** What SPF, DKIM and DMARC say about the sender, and what that means. */
export function AuthenticationResults({
  authentication,
}: {
  authentication: Schema<'InboundAuthentication'> | null;
}) {
  return (
    <Section title="Sender authentication">
      {authentication === null ? (
        <p className="text-sm text-soft">
          Not checked, because this message was simulated and no server delivered it.
        </p>
      ) : (
        <dl className="grid gap-3">
          {explainAuthentication(authentication).map(
            ({ check, result, tone, explanation }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two signatures may have the same result.
              <div key={index} className="text-sm">
                <dt className="flex items-center justify-between gap-2">
                  <span className="font-medium">{check}</span>
                  <Badge tone={tone}>{result}</Badge>
                </dt>
                <dd className="mt-0.5 text-xs wrap-anywhere text-soft">{explanation}</dd>
              </div>
            ),
          )}
        </dl>
      )}
    </Section>
  );
}

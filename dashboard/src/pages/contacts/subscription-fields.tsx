import type { Schema } from '../../api/client.ts';
import { fieldError } from '../../api/problem.ts';
import { Field, Select } from '../../components/field.tsx';
import { Time } from '../../components/time.tsx';
import { useStreams } from '../streams/use-streams.ts';

type Contact = Schema<'Contact'>;
type Subscription = Schema<'ContactSubscription'>;

/** The changed subscriptions, by the key of their stream. */
export type SubscriptionForm = Record<string, Subscription['status']>;

export function subscriptionPointer(stream: string): string {
  return `/subscriptions/${stream}`;
}

/** What a contact chose for each subscription stream, when and how. */
export function SubscriptionFields({
  contact,
  chosen,
  onChange,
  error,
}: {
  contact: Contact;
  chosen: SubscriptionForm;
  onChange: (next: SubscriptionForm) => void;
  error: unknown;
}) {
  const streams = (useStreams().data ?? []).filter(({ purpose }) => purpose === 'subscription');
  if (streams.length === 0) return null;
  return (
    <div className="mt-4 grid gap-4">
      {streams.map(({ key, name }) => {
        const before: Subscription | undefined = contact.subscriptions[key];
        return (
          <Field
            key={key}
            label={`Subscription: ${name}`}
            hint={before && <History subscription={before} />}
            error={fieldError(error, subscriptionPointer(key))}
          >
            <Select
              value={chosen[key] ?? before?.status ?? ''}
              onChange={(event) => {
                const { [key]: _before, ...others } = chosen;
                const status = event.target.value as Subscription['status'];
                onChange(status === before?.status ? others : { ...others, [key]: status });
              }}
            >
              {!before && !chosen[key] && <option value="">Not recorded</option>}
              <option value="subscribed">Subscribed</option>
              <option value="unsubscribed">Unsubscribed</option>
            </Select>
          </Field>
        );
      })}
    </div>
  );
}

function History({ subscription: { changed_at, source } }: { subscription: Subscription }) {
  return (
    <>
      Since <Time at={changed_at} />, {source === null ? 'by a suppression' : SOURCES[source]}
    </>
  );
}

const SOURCES: Record<NonNullable<Subscription['source']>, string> = {
  api: 'by API',
  dashboard: 'in the dashboard',
  import: 'by import',
  page: 'on the unsubscribe page',
  one_click: 'with the button of an email client',
  mail: 'by email',
  complaint: 'by a spam complaint',
};

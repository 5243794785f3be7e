import { Type } from 'typebox';
import { COUNTERS } from '../../../stats/count-events.ts';
import { OTHER_VALUES } from '../../../stats/stats-aggregator.ts';
import { Time } from '../../openapi/shared-schemas.ts';

export { COUNTERS } from '../../../stats/count-events.ts';
export { HOURS_KEPT_DAYS, OTHER_VALUES } from '../../../stats/stats-aggregator.ts';

const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
const NullableMs = Type.Union([Type.Integer(), Type.Null()]);

const FIGURES = {
  messages: 120,
  accepted: 125,
  suppressed: 1,
  delivered: 119,
  deferred: 4,
  bounced: 3,
  bounced_later: 1,
  failed: 0,
  expired: 0,
  cancelled: 0,
  complained: 0,
  unsubscribed: 1,
  opened: 61,
  clicked: 12,
  links_clicked: 15,
  opened_by_machine: 20,
  clicked_by_machine: 3,
  bounced_by_reason: { unknown_mailbox: 2, mailbox_full: 1 },
  suppressed_by_reason: { hard_bounce: 1 },
  rates: { delivered: 0.9752, bounced: 0.0248, complained: 0, opened: 0.5169, clicked: 0.1017 },
  latency: { p50_ms: 431, p95_ms: 1218, p99_ms: 3444 },
};

const Fields = {
  ...Object.fromEntries(COUNTERS.map((counter) => [counter, Type.Integer()])),
  bounced_by_reason: Type.Record(Type.String(), Type.Integer()),
  suppressed_by_reason: Type.Record(Type.String(), Type.Integer()),
  rates: Type.Object(
    {
      delivered: NullableNumber,
      bounced: NullableNumber,
      complained: NullableNumber,
      opened: NullableNumber,
      clicked: NullableNumber,
    },
    {
      description:
        'From 0 to 1: `delivered` and `bounced` as a share of all finished deliveries, the ' +
        'others as a share of delivered ones. Deliveries that bounced later count only as ' +
        'bounced. Null if there were none.',
    },
  ),
  latency: Type.Object(
    { p50_ms: NullableMs, p95_ms: NullableMs, p99_ms: NullableMs },
    { description: 'From acceptance, or the scheduled time, to delivery; accurate to within 10%.' },
  ),
};

const Figures = Type.Object(Fields, {
  title: 'StatsFigures',
  description:
    'Counts of recipients, except for `messages`. `bounced_later` is the part of `bounced` ' +
    'that had been counted as `delivered` before. Opens and clicks are counted once each, ' +
    'separately for machines, and only if tracking was enabled. `links_clicked` also counts ' +
    'further links that a recipient clicked in the same message. `unsubscribed` counts streams that ' +
    'recipients left.',
  examples: [FIGURES],
});

const START = '2026-11-15T09:00:00.000Z';

const Point = Type.Object(
  { start: Time, ...Fields },
  { title: 'StatsPoint', examples: [{ start: START, ...FIGURES }] },
);

const SERIES = { group: 'welcome', totals: FIGURES, points: [{ start: START, ...FIGURES }] };

export const Stats = Type.Object(
  {
    interval: Type.String({ examples: ['hour'] }),
    from: Time,
    to: Time,
    data: Type.Array(
      Type.Object(
        {
          group: Type.Union([Type.String(), Type.Null()], {
            description:
              'Null without `group_by`. A workspace that uses very many values has the ' +
              `counts of further ones together in \`${OTHER_VALUES}\`.`,
          }),
          totals: Figures,
          points: Type.Array(Point, {
            description: 'In chronological order. Intervals without activity are omitted.',
          }),
        },
        { title: 'StatsSeries', examples: [SERIES] },
      ),
    ),
  },
  { title: 'Stats' },
);

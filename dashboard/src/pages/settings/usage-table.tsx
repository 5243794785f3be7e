import type { Schema } from '../../api/client.ts';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { capitalize, formatBytes, formatNumber } from '../../lib/format.ts';

const MESSAGE_QUOTAS = ['messages_per_hour', 'messages_per_day', 'messages_per_month'] as const;

/** What a workspace uses of its quotas. Fills the section that it is in, to its edges. */
export function UsageTable({ usage }: { usage: Schema<'Usage'> }) {
  const rows = [
    ...MESSAGE_QUOTAS.map((name) => ({ name, ...usage[name] })),
    { name: 'contacts', ...usage.contacts, resets_at: null },
    { name: 'content', ...usage.content_bytes, resets_at: null },
  ];
  return (
    <div className="-m-4 [&_:is(td,th)]:px-4 [&>div]:border-y-0">
      <Table label="Usage">
        <thead>
          <tr>
            <Th>Quota</Th>
            <Th className="text-right">Used</Th>
            <Th className="text-right">Limit</Th>
            <Th hideBelow="md">Resets</Th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, used, limit, resets_at }) => (
            <Tr key={name}>
              <Td>{capitalize(name.replaceAll('_', ' '))}</Td>
              <Td className="text-right tabular-nums">{amount(name, used)}</Td>
              <Td className="text-right tabular-nums">
                {limit === null ? 'No limit' : amount(name, limit)}
              </Td>
              <Td hideBelow="md" className="text-soft">
                {resets_at !== null && <Time at={resets_at} />}
              </Td>
            </Tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}

function amount(name: string, value: number): string {
  return name === 'content' ? formatBytes(value) : formatNumber(value);
}

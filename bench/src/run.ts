import { benchAccept } from './accept.ts';
import { benchCompat } from './compat.ts';
import { benchDeliver } from './deliver.ts';
import { benchHistory } from './history.ts';
import { benchNoisyNeighbor } from './noisy-neighbor.ts';
import { benchTemplates } from './templates.ts';
import { benchWebhooks } from './webhooks.ts';

/** `npm run bench [name…]`: runs all benchmarks, or those named. */
const BENCHES: Record<string, () => Promise<void>> = {
  accept: benchAccept,
  compat: benchCompat,
  deliver: benchDeliver,
  history: benchHistory,
  'noisy-neighbor': benchNoisyNeighbor,
  templates: benchTemplates,
  webhooks: benchWebhooks,
};

const selected = process.argv.slice(2);
for (const [name, bench] of Object.entries(BENCHES)) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  console.log(`\n── ${name} ──`);
  await bench();
}

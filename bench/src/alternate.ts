/**
 * Measures several contestants in slices that alternate, because the speed of a machine changes within
 * minutes by more than what is compared. The median slice counts, and the median of the ratios within a
 * round.
 */

/** What a slice found, by unit. */
export type Slice = Readonly<Record<string, number>>;

export interface Contestant {
  name: string;
  /** Measures one slice, with a warm-up of its own: code grows cold while others are measured. */
  slice(): Promise<Slice>;
}

export interface Contest {
  /** Median values of a contestant. */
  slice(name: string): Slice;
  /** How many times the second's value the first's is; each is the name of a contestant and a unit. */
  ratio(value: [string, string], other: [string, string]): number;
}

export async function alternate(
  contestants: readonly Contestant[],
  rounds: number,
): Promise<Contest> {
  const slices = new Map(contestants.map(({ name }) => [name, [] as Slice[]]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, slice } of contestants) slices.get(name)?.push(await slice());
  }
  const of = (name: string, unit: string): number[] =>
    (slices.get(name) ?? []).map((slice) => slice[unit] ?? Number.NaN);
  return {
    slice: (name) =>
      Object.fromEntries(
        Object.keys(slices.get(name)?.[0] ?? {}).map((unit) => [unit, median(of(name, unit))]),
      ),
    ratio(value, other) {
      const others = of(...other);
      return median(of(...value).map((one, round) => one / (others[round] ?? Number.NaN)));
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || amount >= 10 ? 0 : 1)} ${UNITS[power]}`;
}

const numberFormat = new Intl.NumberFormat('en');

export function formatCount(amount: number, one: string, many = `${one}s`): string {
  return `${numberFormat.format(amount)} ${amount === 1 ? one : many}`;
}

export function formatNumber(amount: number): string {
  return numberFormat.format(amount);
}

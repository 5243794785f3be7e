const UNITS = ['B', 'KiB', 'MiB', 'GiB'];

export function sizeInWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || amount >= 10 ? 0 : 1)} ${UNITS[power]}`;
}

const number = new Intl.NumberFormat('en');

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${number.format(amount)} ${amount === 1 ? one : many}`;
}

export function formatNumber(amount: number): string {
  return number.format(amount);
}

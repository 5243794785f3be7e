/** The content codings that we store bodies in, best first. */
export const CODINGS = ['br', 'gzip'] as const;

export type Coding = (typeof CODINGS)[number];

/** Returns the best coding that the client accepts, of those that are available. */
export function acceptedCoding(
  header: string | undefined,
  isAvailable: (coding: Coding) => boolean = () => true,
): Coding | undefined {
  return CODINGS.find((coding) => isAvailable(coding) && accepts(header ?? '', coding));
}

function accepts(header: string, coding: string): boolean {
  return header.split(',').some((part) => {
    const [name, ...parameters] = part.split(';').map((one) => one.trim());
    return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

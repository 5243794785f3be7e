/**
 * Rejects weak passwords: too short, or easy to guess because they consist of common words dressed
 * up with digits and symbols, keyboard rows, repetitions or the person's own name. There are no
 * rules about upper case and digits, because they make passwords worse (NIST SP 800-63B section
 * 5.1.1.2).
 */

const PASSWORD_LENGTH_MIN = 10;
const PASSWORD_LENGTH_MAX = 256;

/** Why the password is weak; undefined when it is acceptable. */
export function passwordWeakness(
  password: string,
  personalWords: readonly string[],
): string | undefined {
  const length = [...password].length;
  if (length < PASSWORD_LENGTH_MIN) {
    return `Use at least ${PASSWORD_LENGTH_MIN} characters. A phrase of several words works well.`;
  }
  if (length > PASSWORD_LENGTH_MAX) return `Use at most ${PASSWORD_LENGTH_MAX} characters.`;
  const own = personalWords.flatMap(wordsIn).filter((word) => word.length >= 3);
  if (isMadeOf(password, [...COMMON, ...own])) {
    return 'This password is too easy to guess. Choose another one.';
  }
  return undefined;
}

function wordsIn(text: string): string[] {
  const plain = text.toLowerCase().normalize('NFKC');
  return [plain.replaceAll(/[^\p{L}\p{N}]/gu, ''), ...plain.split(/[^\p{L}\p{N}]+/u)];
}

/**
 * Whether nothing is left of the password once known words, keyboard runs and repetitions are
 * removed.
 */
function isMadeOf(password: string, words: readonly string[]): boolean {
  const lower = password.toLowerCase().normalize('NFKC');
  const bare = lower.replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  const texts = [lower, plainLetters(lower)];
  if (bare.length * 2 >= lower.length) texts.push(plainLetters(bare));
  return texts.some((text) => {
    const left = withoutKeyboardRuns(withoutWords(text, words));
    return new Set(left).size <= 2 || isRepeatedPattern(text);
  });
}

/** Symbols and digits that resemble letters. */
const LOOKALIKES = new Map(
  Object.entries({ 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's', '!': 'i' }),
);

function plainLetters(text: string): string {
  return [...text].map((character) => LOOKALIKES.get(character) ?? character).join('');
}

/** Longest words first, so that "password" is removed before "pass". */
function withoutWords(text: string, words: readonly string[]): string {
  const longestFirst = [...words].sort((a, b) => b.length - a.length);
  return longestFirst.reduce((left, word) => left.replaceAll(word, ' '), text);
}

/**
 * Removes years, spaces, symbols and runs of three or more along a keyboard row in either
 * direction.
 */
function withoutKeyboardRuns(text: string): string {
  const left = text.replaceAll(/(?:19|20)\d\d/g, ' ').replaceAll(/[^\p{L}\p{N}]/gu, '');
  let kept = '';
  for (let at = 0; at < left.length; ) {
    const run = runAt(left, at);
    if (run < 3) kept += left[at];
    at += run < 3 ? 1 : run;
  }
  return kept;
}

const KEYBOARD_ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'yxcvbnm',
  '1q2w3e4r5t6y7u8i9o0p',
  '1qaz2wsx3edc4rfv5tgb6yhn',
].flatMap((row) => [row, [...row].reverse().join('')]);

/**
 * The length of the run at a position: characters adjacent in one keyboard row, or all the same.
 */
function runAt(text: string, at: number): number {
  let longest = 1;
  while (text[at + longest] === text[at]) longest += 1;
  for (const row of KEYBOARD_ROWS) {
    let length = 2;
    while (at + length <= text.length && row.includes(text.slice(at, at + length))) length += 1;
    longest = Math.max(longest, length - 1);
  }
  return longest;
}

function isRepeatedPattern(text: string): boolean {
  return /^(.{1,5})\1+$/su.test(text);
}

/** The words in the most common passwords, and our own name. */
const COMMON = `
  password passwort passphrase pass motdepasse contrasena senha parola wachtwoord secret secreto
  letmein welcome willkommen bienvenue login logon signin enter access open sesame opensesame
  admin administrator root superuser user guest default changeme change please test testing tester
  demo sample example temp temporary qwerty qwertz azerty monkey dragon master shadow sunshine
  princess football baseball basketball soccer hockey superman batman spiderman pokemon starwars
  trustno iloveyou loveyou love lovely hello hallo bonjour ciao freedom whatever nothing mustang
  michael jordan jennifer jessica ashley daniel thomas andrew charlie robert matthew anthony
  summer winter spring autumn monday tuesday wednesday thursday friday saturday sunday
  january february march april june july august september october november december
  flower cookie pepper ginger cheese chocolate banana orange apple purple yellow silver golden
  computer internet google facebook youtube amazon microsoft windows apple samsung iphone android
  killer hunter ranger warrior ninja wizard phoenix falcon eagle tiger lion bear wolf
  company office server system network database email mail mailer postmaster postrider smtp
  hunter correcthorsebatterystaple zaq1 xsw2 my the and new old our its is it me you your
`
  .trim()
  .split(/\s+/);

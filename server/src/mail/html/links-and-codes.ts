import { HtmlTokenizer } from '../../lib/html/tokenizer.ts';

/**
 * Extracts what a reader would click or type: links and one-time codes. The test inbox uses it, so
 * that end-to-end tests can follow a sign-up email. Links are exact. Codes are inferred from context:
 * the most likely one comes first, and numbers that are clearly something else (years, prices, phone
 * and order numbers) are left out.
 */

const LINKS_MAX = 500;
const LINK_CHARS_MAX = 8192;

/** Absolute http(s) URLs in document order without duplicates: first those of the html, then of the text. */
export function extractLinks(html: string, text: string): string[] {
  const links = new Set<string>();
  const tokens = new HtmlTokenizer(html);
  while (links.size < LINKS_MAX && tokens.next()) {
    if (tokens.kind !== 'start-tag' || (tokens.name !== 'a' && tokens.name !== 'area')) continue;
    const href = tokens
      .attribute('href')
      ?.replace(/[\t\r\n]/g, '')
      .trim();
    if (href !== undefined && isWebAddress(href)) links.add(href);
  }
  for (const [written] of text.matchAll(/\bhttps?:\/\/[^\s<>"]+/gi)) {
    if (links.size >= LINKS_MAX) break;
    const link = withoutPunctuation(written);
    if (isWebAddress(link)) links.add(link);
  }
  return [...links];
}

function isWebAddress(address: string): boolean {
  const isShort = address.length <= LINK_CHARS_MAX;
  return isShort && /^https?:\/\/./i.test(address) && URL.canParse(address);
}

/** Trailing punctuation, such as a period or closing parenthesis, is not part of a URL. */
function withoutPunctuation(written: string): string {
  let end = written.length;
  let open = written.split('(').length - written.split(')').length;
  for (; end > 0; end--) {
    const last = written[end - 1]!;
    if (last === ')' && open < 0) open += 1;
    else if (!".,;:!?'*_]}".includes(last)) break;
  }
  return written.slice(0, end);
}

const TEXT_CHARS_MAX = 200_000;
/** Candidates examined, not found; bounds the work for a text made only of numbers. */
const CANDIDATES_MAX = 1_000;
const CONTEXT_BEFORE_CHARS = 80;
const CONTEXT_AFTER_CHARS = 60;

/**
 * One-time codes: 4 to 8 digits, two groups of three (returned joined), or 6 to 10 uppercase letters
 * and digits. Most likely first.
 */
export function extractCodes(text: string): string[] {
  const readable = maskAddresses(text.slice(0, TEXT_CHARS_MAX));
  const found: { code: string; score: number }[] = [];
  let candidates = 0;
  for (const match of readable.matchAll(CANDIDATE)) {
    if (++candidates > CANDIDATES_MAX) break;
    const code = match[0].replace(/^[A-Z]-/, '').replace(/[ -]/, '');
    if (isLettersOnly(code)) continue;
    const score = codeScore(code, contextOf(readable, match.index, match[0].length));
    if (score > 0) found.push({ code, score });
  }
  found.sort((a, b) => b.score - a.score);
  return [...new Set(found.map(({ code }) => code))];
}

// Not part of a longer word, number, date, time, price or phone number.
const CANDIDATE =
  /(?<![\p{L}\p{N}_.,:/+#$€£¥₹-])(?:(?:[A-Z]-)?\d{4,8}|\d{3}[ -]\d{3}|[A-Z0-9]{6,10})(?![\p{L}\p{N}_%]|[ -]\d{3}(?!\p{N})|[.,:/-]\p{N})/gu;

function maskAddresses(text: string): string {
  return text.replace(/\S+/g, (word) =>
    word.includes('@') || word.includes('://') ? ' '.repeat(word.length) : word,
  );
}

function isLettersOnly(code: string): boolean {
  return !/\d/.test(code);
}

interface Context {
  before: string;
  after: string;
  /** The last non-empty line before this one. */
  previousLine: string;
  isAlone: boolean;
}

function contextOf(text: string, start: number, length: number): Context {
  const windowStart = Math.max(0, start - 4 * CONTEXT_BEFORE_CHARS);
  const linesBefore = text.slice(windowStart, start).split('\n');
  const before = (linesBefore.pop() ?? '').slice(-CONTEXT_BEFORE_CHARS);
  const previousLine = linesBefore.findLast((line) => line.trim() !== '') ?? '';
  const rest = text.slice(start + length, start + length + CONTEXT_AFTER_CHARS);
  const after = rest.split('\n', 1)[0] ?? '';
  const isAlone = !/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after);
  return { before, after, previousLine: previousLine.slice(-2 * CONTEXT_BEFORE_CHARS), isAlone };
}

/** A score of zero or less is not a code. The nearest keyword decides. */
function codeScore(code: string, context: Context): number {
  const { before, after, previousLine, isAlone } = context;
  if (MONEY_BEFORE.test(before) || QUANTITY_AFTER.test(after)) return 0;
  const nearby = keywordSign(before, -1) * 3 || keywordSign(after, 0) * 2;
  const score = nearby || (isAlone ? 1 + keywordSign(previousLine, -1) * 2 : 0);
  if (score < 2 && isLikelyYear(code)) return 0;
  if (score < 2 && isLikelyPostcode(code, before, after)) return 0;
  const usualLength = code.length === 6 ? 0.5 : 0;
  return score > 0 ? score + usualLength : 0;
}

const MONEY_BEFORE = /(?:[$€£¥₹]|\b(?:eur|usd|gbp|chf|jpy|rs))\s*$/i;
const QUANTITY_AFTER =
  /^\s*(?:[$€£¥₹%]|(?:eur|usd|gbp|chf|jpy|seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?|users?|people|customers?|members?|points?|credits?|items?|km|kg|[kmg]b|px)\b)/i;

// Words for a code in the supported languages, including compounds such as "Sicherheitscode".
const CODE_WORDS = [
  String.raw`\b(?!(?:post|zip|bar|qr)-?code)[\p{L}-]*(?:codes?|kode|kod|c[oó]digo|codice)(?!\p{L})`,
  String.raw`\b(?:pin|otp|tan|2fa|mfa|token|verif\p{L}*|one[- ]time|einmal\p{L}*)(?!\p{L})`,
  String.raw`\b(?:enter|type|use|eingeben)(?!\p{L})`,
  'код|验证码|驗證碼|認証|コード|인증',
];
const NON_CODE_WORDS = [
  String.raw`\b(?:promo\p{L}*|discount|coupon|voucher|gift|zip|postal|area|country|error)[- ]codes?`,
  String.raw`\b(?:post|zip|bar|qr)-?code|\bgutschein\p{L}*`,
  String.raw`\b(?:order|invoice|receipt|ref|reference|tracking|booking|reservation)(?!\p{L})`,
  String.raw`\b(?:bestell|rechnung|auftrag|kunden|buchung)\p{L}*`,
  String.raw`\b(?:commande|facture|pedido|factura|shipment|parcel|sku|version|build)(?!\p{L})`,
  String.raw`\b(?:phone|tel|telefon|telephone|fax|call|mobile|plz|hrb|vat|iban|since)(?!\p{L})`,
  String.raw`\b(?:account|customer|member|case|item|policy|ticket)[ -]?(?:number|no|nr|id)(?!\p{L})`,
  '[#№©]',
];
const KEYWORDS = new RegExp(
  `(?:${CODE_WORDS.join('|')})|(?<other>${NON_CODE_WORDS.join('|')})`,
  'giu',
);

/** The first or last keyword: 1 when it announces a code, -1 when something else, 0 when there is none. */
function keywordSign(text: string, index: 0 | -1): -1 | 0 | 1 {
  const word = [...text.matchAll(KEYWORDS)].at(index);
  if (word === undefined) return 0;
  return word.groups?.other === undefined ? 1 : -1;
}

function isLikelyYear(code: string): boolean {
  return /^(?:19|20)\d\d$/.test(code);
}

/** Matches "10115 Berlin" and "CA 94107". */
function isLikelyPostcode(code: string, before: string, after: string): boolean {
  return /^\d{4,6}$/.test(code) && (/^ \p{Lu}\p{L}/u.test(after) || /\b[A-Z]{2} $/.test(before));
}

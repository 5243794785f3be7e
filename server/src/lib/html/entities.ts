/**
 * Decodes character references (entities). Names must end with a semicolon: in the URL `?a=1&copy=2`,
 * `&copy` is a parameter. The names are those of HTML 4, which email uses, and those that matter in URLs.
 */
export function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(REFERENCE, decodeReference) : text;
}

/**
 * Like decodeEntities for numbers and for the names that matter in URLs, but accepts them without their
 * semicolon. For security checks, where decoding too much is safe: some email clients are this lenient.
 */
export function decodeEntitiesLeniently(text: string): string {
  return text.includes('&') ? text.replace(LENIENT_REFERENCE, decodeReference) : text;
}

const REFERENCE = /&(?:#(?:[xX]([\da-fA-F]+)|(\d+));?|([a-zA-Z][a-zA-Z\d]{1,15});)/g;
const LENIENT_REFERENCE =
  /&(?:#(?:x([\da-f]+)|(\d+))|(amp|colon|tab|newline|sol|quest|num|nbsp));?/gi;

function decodeReference(reference: string, hex?: string, decimal?: string, name?: string): string {
  if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
  if (decimal !== undefined) return characterOf(Number.parseInt(decimal, 10));
  return NAMED.get(name!) ?? NAMED.get(name!.toLowerCase()) ?? reference;
}

function characterOf(code: number): string {
  if (code >= 0x80 && code <= 0x9f) return WINDOWS_1252[code - 0x80]!;
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : '\ufffd';
}

// Browsers read references to C1 controls as windows-1252 (WHATWG HTML 13.2.5.80).
const WINDOWS_1252 = [...'€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'];

const NAMED = new Map<string, string>([
  ['tab', '\t'],
  ['newline', '\n'],
]);

const LATIN_1 =
  `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg
  plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave
  Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH
  Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig
  agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc
  iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute
  thorn yuml`.split(/\s+/);
for (const [index, name] of LATIN_1.entries()) NAMED.set(name, String.fromCharCode(0xa0 + index));

const OTHERS =
  `colon : sol / quest ? num # amp & lt < gt > quot " apos ' OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ fnof ƒ circ ˆ
  tilde ˜ ensp \u2002 emsp \u2003 thinsp \u2009 zwnj \u200c zwj \u200d lrm \u200e rlm \u200f ndash –
  mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ dagger † Dagger ‡ bull • hellip … permil ‰
  prime ′ Prime ″ lsaquo ‹ rsaquo › oline ‾ frasl ⁄ euro € image ℑ weierp ℘ real ℜ trade ™ alefsym ℵ
  larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ forall ∀ part ∂
  exist ∃ empty ∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ minus − lowast ∗ radic √ prop ∝ infin ∞
  ang ∠ and ∧ or ∨ cap ∩ cup ∪ int ∫ there4 ∴ sim ∼ cong ≅ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃
  nsub ⊄ sube ⊆ supe ⊇ oplus ⊕ otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lang ⟨ rang ⟩
  loz ◊ spades ♠ clubs ♣ hearts ♥ diams ♦ check ✓ star ☆ Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε
  Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ
  Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ
  iota ι kappa κ lambda λ mu μ nu ν xi ξ omicron ο pi π rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ
  chi χ psi ψ omega ω thetasym ϑ upsih ϒ piv ϖ`.split(/[ \n]+/);
for (let i = 0; i < OTHERS.length; i += 2) NAMED.set(OTHERS[i]!, OTHERS[i + 1]!);

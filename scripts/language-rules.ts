/**
 * Words and phrases that the `language` step of the gate rejects, with what to write instead. Patterns
 * exclude the ordinary uses of a word where they can; `ALLOWED` lists the rest.
 */
export interface LanguageRule {
  pattern: RegExp;
  instead: string;
}

/** For prose: comments, documentation, strings of more than one word, and JSX text. */
export const PROSE_RULES: LanguageRule[] = [
  { pattern: /\d %(?=[,.;:)]| [a-z]|$)/, instead: 'no space before %' },
  // A private vocabulary where the industry has terms.
  { pattern: /\btold\b/i, instead: 'reported, returned, sent or notified' },
  {
    // One can tell someone something, and tell two apart.
    pattern:
      /\b(?:tells|telling)\b(?! (?:you|us|them|it|the|other|clients|users|operators|senders|whether)\b|$)(?![^.]*\bapart\b)/i,
    instead: 'reports, returns or shows',
  },
  { pattern: /\btell of\b/i, instead: 'report' },
  { pattern: /(?<!in-)\bhouses?\b/i, instead: 'server, service or module' },
  {
    pattern:
      /(?<!\b(?:make|makes|making|leave|leaves|no|enough|more|with) )\brooms?\b(?! (?:for|to|left)\b)/i,
    instead: 'module, or space',
  },
  { pattern: /\bwalls?\b(?![ -](?:clock|time))/i, instead: 'boundary' },
  { pattern: /\bdoors?\b/i, instead: 'listener, port or API' },
  { pattern: /\bbells?\b/i, instead: 'notification' },
  { pattern: /\bhatch(?:es)?\b/i, instead: 'handoff' },
  { pattern: /\bcrowds?\b/i, instead: 'connection limit' },
  { pattern: /\bbelieved\b/i, instead: 'cached or trusted' },
  { pattern: /\bwhereabouts\b/i, instead: 'lock file, location' },
  { pattern: /\bsisters?\b/i, instead: 'similar ones' },
  { pattern: /\bstrangers?\b/i, instead: 'unknown clients' },
  { pattern: /\bpatience\b/i, instead: 'timeout or retry window' },
  {
    pattern:
      /\b(?:its|his|her|their|whose|our|your|the|these|those|same|own|plain) words\b(?! in )/i,
    instead: 'text, content or terms',
  },
  { pattern: /\bin words\b/i, instead: 'as text' },
  {
    pattern: /(?<!\b(?:segmentation|page|at) )\bfaults?\b(?![- ](?:tolera|injection))/i,
    instead: 'error, issue or bug',
  },
  { pattern: /\bmend(?:s|ed|ing)?\b/i, instead: 'fix, repair or restore' },
  { pattern: /\bborn\b/i, instead: 'created' },
  { pattern: /\bwish(?:ed|es)?\b/i, instead: 'requested, wants' },
  { pattern: /\bdear(?:er|est)?\b/, instead: 'expensive' },
  {
    pattern: /\b(?:a|the|each|every|its|that|this|own|any) things?\b(?! to)/i,
    instead: 'the name of it',
  },
  {
    // Letters of the alphabet are named as such in the same sentence.
    pattern:
      /(?<!first-|single-)(?<!\b(?:dead|capital|small|first|cover|single|same|resemble|ASCII|each|every|upper-?case|lower-?case) )\bletters?\b(?!-spacing)(?![^.]*\b(?:digits?|numbers?|alphabet|case|accents?|ASCII|characters?|hyphens?)\b)/i,
    instead: 'email',
  },

  // Calques.
  { pattern: /\b(?:whoever|whomever)\b/i, instead: 'anyone who, the operator, the user' },
  { pattern: /\bsomebody\b/i, instead: 'someone, a user, a client' },
  { pattern: /\bnobody\b(?![@'’`"])/i, instead: 'no one, or name the subject' },
  { pattern: /\b(?:[Aa]nybody|[Ee]verybody)\b/, instead: 'anyone, everyone' },
  {
    pattern:
      /(?<!\b(?:there|here|it|which|that|this) )\b(?:is|are|was|were) no (?!longer|more|less|fewer|later|earlier|evidence|guarantee|proof|exception|different|better|worse|larger|smaller|one|such|use)\w/i,
    instead: 'is not a …',
  },
  { pattern: /\bby (?:itself|themselves)\b/i, instead: 'automatically, or on its own' },
  { pattern: /\bof (?:its|their) own accord\b/i, instead: 'automatically' },
  { pattern: /\bstands\b(?! (?:for|out|alone|in for)\b)/i, instead: 'is, appears' },
  { pattern: /\bstand (?:in|beside|behind|before|there|here|last|first|still)\b/i, instead: 'is' },
  { pattern: /\bleads? (?:over|nowhere)\b/i, instead: 'goes through, is invalid' },
  {
    pattern:
      /\b(?:goes|go|went) on\b(?! (?:the|a|an|to|top|port|line|its own|this|that|one|each|every|hold|holiday)\b)/i,
    instead: 'continues',
  },
  { pattern: /\bat the (?:most|least)\b/i, instead: 'at most, at least' },
  { pattern: /\bcom(?:e|es|ing) again\b/i, instead: 'retry, return' },
  { pattern: /\banew\b/i, instead: 'again' },
  { pattern: /\b(?:send|sends|sent) away\b/i, instead: 'rejected, disconnected' },
  { pattern: /\b(?:runs?|ran) out\b(?! of)/i, instead: 'expires' },
  {
    pattern:
      /\blook(?:s|ed|ing)? (?!it\b|them\b|this\b|that\b)(?:[\w-]+ ){0,3}(?:[\w-]+) up\b(?! to)/i,
    instead: 'look up …',
  },
  {
    pattern: /\bhold(?:s|ing)? (?:[\w-]+ ){0,4}against\b|(?<!\bnot )\bheld against\b/i,
    instead: 'compare with',
  },
  { pattern: /\blies\b/i, instead: 'is, is stored' },
  {
    pattern: /\b(?:is|are|was|were|be|been) asked\b(?! (?:to|whether|if)\b)/i,
    instead: 'requested, required, queried',
  },
  { pattern: /\b(?:for|of|to|than) who\b/i, instead: 'for users who …' },
  { pattern: /\b(?:he|him|his|himself)\b/, instead: 'they, their' },

  // Spelling.
  { pattern: /\be-mail(?:s|ed|ing)?\b/i, instead: 'email' },
  {
    pattern: /\b\w*(?:behaviour|colour|favour(?!ite)|neighbour|honour|labour)\w*\b/i,
    instead: 'the American spelling (-or)',
  },
  {
    pattern: /\b(?:centre[sd]?|metres?|litres?|fibres?)\b/i,
    instead: 'the American spelling (-er)',
  },
  {
    pattern:
      /\b\w*(?:anonymis|authoris|capitalis|categoris|centralis|characteris|customis|finalis|generalis|initialis|localis|maximis|memoris|minimis|normalis|optimis|organis|parametris|prioritis|randomis|realis|recognis|sanitis|serialis|specialis|stabilis|standardis|summaris|synchronis|tokenis|utilis|visualis)(?:e|es|ed|er|ers|ing|ation|ations|able)\b/i,
    instead: 'the American spelling (-ize)',
  },
  {
    pattern:
      /\b(?:analys(?:e|ed|es|ing)|artefacts?|grey|licence|judgement|misspelt|spelt|learnt|whilst|amongst|fulfil|labelled|modelled|signalled|travelled|cancelling|catalogues?|programmes?|cheques?)\b/i,
    instead: 'the American spelling',
  },
];

/** For the titles of tests, besides the rules for prose. */
export const TITLE_RULES: LanguageRule[] = [
  {
    pattern: /^(?:what|whatever|who|whose|whom)\b(?!.*\?$)/i,
    instead: 'a sentence that names its subject',
  },
];

/**
 * For identifiers, SQL names and file names, by their parts: `askedAtMs` has the parts `asked`, `at`
 * and `ms`.
 */
export const RETIRED_PARTS: Record<string, string> = {
  asked: 'requested',
  behaviour: 'behavior',
  believed: 'cached',
  bell: 'notifier',
  centre: 'center',
  centres: 'centers',
  colour: 'color',
  colours: 'colors',
  crowd: 'connectionLimiter',
  doors: 'listeners',
  fault: 'error',
  faults: 'errors',
  hatch: 'handoff',
  house: 'server',
  mend: 'repair',
  neighbour: 'neighbor',
  neighbours: 'neighbors',
  nobody: 'none',
  rooms: 'modules',
  somebody: 'someone',
  tidy: 'hygiene',
  told: 'reported',
  walls: 'boundaries',
  whereabouts: 'location',
  whoever: 'anyone',
  wish: 'request',
  wished: 'requested',
};

/** Whole identifiers that were replaced, and must not come back. */
export const RETIRED_NAMES: Record<string, string> = {
  AskedRequest: 'RequestContext',
  Desk: 'SubmissionResources',
  FairQuestions: 'PerWorkspaceResolver',
  Ingredient: 'TemplatePart',
  PatientWrites: 'RetryingWriter',
  Recipe: 'ResolvedSources',
  Rounds: 'PeriodicTasks',
  WrongKeys: 'AuthThrottle',
  handsOut: 'consumesOnRead',
  isLostRace: 'isSerializationFailure',
  isOwnPlace: 'isOwnListener',
  isStorageGone: 'isConnectionError',
  keepsOwnIdempotency: 'handlesIdempotency',
  moreFaults: 'semanticChecks',
  noticesArrive: 'isListening',
  nothingHere: 'notFound',
  outlast: 'run',
  seamAfter: 'joinHazard',
  signsIn: 'csrfProtected',
  takeTurn: 'lockForTransaction',
};

/** Correct uses that the patterns above cannot tell apart. */
export const ALLOWED: { file: RegExp; text: RegExp }[] = [
  // The Contributor Covenant is quoted as it is.
  { file: /^CODE_OF_CONDUCT\.md$/, text: /./ },
  // The account of that name on Unix systems.
  { file: /./, text: /\buser nobody\b|\bnobody:nogroup\b/ },
  // Texts in other languages.
  { file: /unsubscribe-texts\.ts$/, text: /e-mail/i },
  // Names of icons.
  { file: /^dashboard\//, text: /^Bell(?:Off|Ring)$/ },
];

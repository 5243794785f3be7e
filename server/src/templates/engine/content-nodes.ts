import type { FilterSpec } from './filter-spec.ts';

/**
 * The syntax tree of a field: nodes, each with the source offset (`at`) of its placeholder. The tree is
 * immutable after parsing and shared by all renders.
 */

export type ContentNode =
  | { kind: 'text'; text: string }
  | OutputNode
  | { kind: 'if'; branches: IfBranch[]; at: number }
  | { kind: 'case'; subject: Expr; branches: CaseBranch[]; at: number }
  | ForNode
  | { kind: 'assign'; name: string; expr: Expr; at: number }
  | { kind: 'capture'; name: string; body: ContentNode[]; at: number }
  | { kind: 'break'; at: number }
  | { kind: 'continue'; at: number }
  | RenderNode
  | { kind: 'url-open' }
  | { kind: 'url-close'; check: UrlCheck; at: number };

/** Where in the document an output is, which determines how its value is escaped. */
export type OutputContext =
  | 'plain'
  | 'html-text'
  | 'attribute'
  | 'bare-attribute'
  | 'url-parameter'
  | 'comment'
  | 'css'
  | 'css-string'
  | 'css-url'
  | 'css-url-in-attribute'
  | 'json-string'
  | 'json-value'
  | 'raw';

/** How a completed URL attribute is validated: as one URL, a list of URLs, or a refresh directive. */
export type UrlCheck = 'link' | 'image' | 'srcset' | 'refresh';

export interface OutputNode {
  kind: 'output';
  expr: Expr;
  context: OutputContext;
  /** Inside a conditional comment, where a dash could help end the comment. */
  escapeDashes: boolean;
  at: number;
}

export interface IfBranch {
  /** Undefined for else. */
  condition: Expr | undefined;
  negated: boolean;
  body: ContentNode[];
}

export interface CaseBranch {
  /** Undefined for else. */
  values: Expr[] | undefined;
  body: ContentNode[];
}

export interface ForNode {
  kind: 'for';
  variable: string;
  list: Expr;
  offset: Expr | undefined;
  limit: Expr | undefined;
  reversed: boolean;
  body: ContentNode[];
  elseBody: ContentNode[] | undefined;
  at: number;
}

export interface RenderNode {
  kind: 'render';
  key: string;
  values: { name: string; expr: Expr }[];
  /** `with x as y` passes one value; `for xs as y` renders the partial for each item. */
  binding: { name: string; expr: Expr; each: boolean } | undefined;
  at: number;
}

export type Operator = '==' | '!=' | '>' | '<' | '>=' | '<=' | 'contains' | 'and' | 'or';

export type Expr =
  | { kind: 'literal'; value: string | number | boolean | null }
  /** `empty` and `blank` only have a meaning in comparisons. */
  | { kind: 'void'; blank: boolean }
  | PathExpr
  | { kind: 'range'; low: Expr; high: Expr; at: number }
  | { kind: 'not'; operand: Expr }
  | { kind: 'binary'; operator: Operator; left: Expr; right: Expr }
  | FilteredExpr
  | { kind: 'cycle'; key: string; group: Expr | undefined; values: Expr[] }
  | { kind: 'counter'; name: string; step: 1 | -1 };

export interface PathExpr {
  kind: 'path';
  root: string;
  /** Depth of the enclosing loop that binds the root, or -1. */
  frame: number;
  /** The value comes from the contact record, where a blank string means no value. */
  fromContact: boolean;
  segments: (string | number | Expr)[];
  at: number;
}

export interface FilteredExpr {
  kind: 'filtered';
  initial: Expr;
  filters: FilterCallNode[];
  /** Index of the last `default` filter, up to which a missing value is allowed; -1 without one. */
  defaultAt: number;
}

export interface FilterCallNode {
  name: string;
  spec: FilterSpec;
  args: Expr[];
  named: { name: string; expr: Expr }[];
  at: number;
}

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { html } from '@codemirror/lang-html';
import { liquid } from '@codemirror/lang-liquid';
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension } from '@codemirror/state';
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
} from '@codemirror/view';
import { useEffect, useRef } from 'react';

/**
 * An editor for HTML and Liquid. It lives in a shadow root, where its styles are adopted style
 * sheets; the page's content security policy would block <style> elements.
 */

export interface EditorMark {
  line: number;
  column: number;
  severity: 'error' | 'warning';
  message: string;
}

export interface CodeEditorProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  language: 'html' | 'text';
  marks?: readonly EditorMark[];
  readOnly?: boolean;
}

export function CodeEditor({ label, value, onChange, language, marks, readOnly }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const change = useRef(onChange);
  change.current = onChange;
  const first = useRef(value);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          ...BASICS,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorState.readOnly.of(readOnly ?? false),
          language === 'html' ? liquid({ base: html() }) : [],
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      first.current = editor.state.doc.toString();
      editor.destroy();
    };
  }, [label, language, readOnly]);
  useEffect(() => {
    const editor = view.current;
    // The value changed outside of the editor: another language, or a restored version.
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor.state, marks)));
  }, [marks]);
  return <div ref={host} className="editor h-full min-h-0 overflow-hidden" />;
}

function diagnosticsOf(state: EditorState, marks: readonly EditorMark[] = []): Diagnostic[] {
  return marks.map(({ line, column, severity, message }) => {
    const at = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines));
    const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
    return { from, to: Math.max(Math.min(from + 1, at.to), from), severity, message };
  });
}

/** Highlights placeholders in plain text too, and `${name}`, which is not Liquid syntax. */
const placeholders = ViewPlugin.fromClass(
  class {
    readonly #matcher = new MatchDecorator({
      regexp: /(?<!\\)\$\{[^}\n]*\}|\{\{[^}\n]*\}\}|\{%[^%\n]*%\}/g,
      decoration: Decoration.mark({ class: 'cm-placeholder-text' }),
    });
    decorations;
    constructor(view: EditorView) {
      this.decorations = this.#matcher.createDeco(view);
    }
    update(update: Parameters<MatchDecorator['updateDeco']>[0]) {
      this.decorations = this.#matcher.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** Maps the library's colors, made for a white background, to theme colors. */
const THEME_COLORS: Record<string, string> = {
  '#708': 'var(--plum)',
  '#219': 'var(--info)',
  '#164': 'var(--good)',
  '#a11': 'var(--bad)',
  '#e40': 'var(--warn)',
  '#00f': 'var(--info)',
  '#30a': 'var(--plum)',
  '#085': 'var(--good)',
  '#167': 'var(--info)',
  '#256': 'var(--info)',
  '#00c': 'var(--info)',
  '#940': 'var(--ink-faint)',
  '#f00': 'var(--bad)',
  '#404740': 'var(--ink-faint)',
};

const highlightColors = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) => {
    const color = typeof spec.color === 'string' ? THEME_COLORS[spec.color] : undefined;
    return color === undefined ? spec : { ...spec, color };
  }),
);

const theme = EditorView.theme({
  '&': {
    height: '100%',
    fontSize: '12.5px',
    color: 'var(--ink)',
    backgroundColor: 'var(--panel)',
  },
  '&.cm-focused': { outline: '2px solid var(--accent-ring)', outlineOffset: '-2px' },
  '.cm-scroller': {
    fontFamily:
      'ui-monospace, "SF Mono", SFMono-Regular, "Cascadia Code", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    lineHeight: '1.6',
    fontVariantLigatures: 'none',
  },
  '.cm-content': { caretColor: 'var(--ink)', paddingBlock: '10px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink-faint)',
    border: 'none',
    paddingLeft: '4px',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--sunken)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-wash) !important',
  },
  '.cm-placeholder-text': { color: 'var(--plum)', fontWeight: '500' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    fontFamily: 'system-ui, sans-serif',
    fontSize: '12px',
  },
});

const BASICS: Extension[] = [
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  EditorView.lineWrapping,
  syntaxHighlighting(highlightColors),
  placeholders,
  theme,
  // Tab moves focus instead of indenting: an editor must not be a keyboard trap.
  keymap.of([...defaultKeymap, ...historyKeymap]),
];

// A text to edit, with colours, line numbers, and the kernel's refusal on its line.
import { copyLineDown, copyLineUp, deleteLine, history, historyKeymap, indentLess, indentMore, indentWithTab, moveLineDown, moveLineUp, selectLine, standardKeymap, toggleComment, toggleTabFocusMode } from "@codemirror/commands";
import { HighlightStyle, indentService, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, type DecorationSet, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { html } from "./parts";
import { say } from "./strings";
import { tokens, type Token } from "./text";
import type { ErrorView } from "./types";
import { isHere } from "./views";

const COLOURS = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.keyword, class: "wb-t-key" },
  { tag: tags.number, class: "wb-t-num" },
  { tag: tags.string, class: "wb-t-str" },
  { tag: tags.comment, class: "wb-t-com" },
  { tag: tags.function(tags.variableName), class: "wb-t-fun" },
]));

/** The colours of the panes' texts. */
const NAMES = { "": null, key: "keyword", num: "number", str: "string", com: "comment", fun: "variableName.function" };
const PROGRAM = StreamLanguage.define<{ left: Token[] }>({
  startState: () => ({ left: [] }),
  token(stream, state) {
    if (stream.sol()) state.left = tokens(stream.string, "python");
    const [kind, text] = state.left.shift() ?? ["", stream.string.slice(stream.pos)];
    stream.pos += text.length;
    return NAMES[kind];
  },
  languageData: { commentTokens: { line: "#" } },
});

/** A line behind one that opens something stands further in. */
const INDENTED = indentService.of((context, at) => {
  const { text } = context.lineAt(at, -1);
  return text.search(/\S|$/) + (/[:([{]\s*$/.test(text) ? 4 : 0);
});

// Our own marks, since those of @codemirror/lint are images in data URLs, which strict pages block.
const refuse = StateEffect.define<{ from: number; to: number; message: string } | null>();
const refusal = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    marks = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(refuse)) continue;
      if (!effect.value) return Decoration.none;
      const { from, to, message } = effect.value;
      const line = transaction.state.doc.lineAt(from);
      const place = Decoration.mark({ class: "wb-refused", attributes: { title: message } });
      const ranges = [Decoration.line({ class: "wb-refused-line" }).range(line.from)];
      marks = Decoration.set(to > from ? [...ranges, place.range(from, to)] : ranges);
    }
    return marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const KEYS = [
  { key: "Alt-ArrowUp", run: moveLineUp }, { key: "Shift-Alt-ArrowUp", run: copyLineUp },
  { key: "Alt-ArrowDown", run: moveLineDown }, { key: "Shift-Alt-ArrowDown", run: copyLineDown },
  { key: "Alt-l", mac: "Ctrl-l", run: selectLine },
  { key: "Mod-[", run: indentLess }, { key: "Mod-]", run: indentMore }, { key: "Shift-Mod-k", run: deleteLine },
  { key: "Mod-/", run: toggleComment }, { key: "Ctrl-m", mac: "Shift-Alt-m", run: toggleTabFocusMode },
];

interface Shape { text: string; line: number; refused: ErrorView | null; apply(text: string): void; changed(text: string): void; close(): void }

export function Editor({ text, line, refused, apply, changed, close }: Shape) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const actions = useRef({ apply, changed, close });
  actions.current = { apply, changed, close };
  useEffect(() => {
    const made = new EditorView({ parent: place.current!, state: state(text, actions) });
    view.current = made;
    made.scrollDOM.tabIndex = 0; // long lines are scrolled by keys too
    if (isHere(place.current!)) made.focus();
    const from = made.state.doc.line(Math.min(line + 1, made.state.doc.lines)).from;
    if (line > 0) made.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    return () => made.destroy();
  }, [text]);
  useEffect(() => { if (view.current) mark(view.current, refused); }, [refused]);
  return html`<div class="wb-editor" ref=${place}></div>`;
}

function state(text: string, actions: { current: Pick<Shape, "apply" | "changed" | "close"> }): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), refusal, COLOURS,
      PROGRAM, INDENTED, indentUnit.of("    "),
      EditorView.contentAttributes.of({ "aria-label": say.changes.programText, spellcheck: "false" }),
      EditorView.updateListener.of((update) => { if (update.docChanged) actions.current.changed(update.state.doc.toString()); }),
      keymap.of([
        { key: "Mod-Enter", run: (view) => { actions.current.apply(view.state.doc.toString()); return true; } },
        { key: "Escape", run: () => { actions.current.close(); return true; } },
        ...KEYS, ...standardKeymap, ...historyKeymap, indentWithTab,
      ]),
    ],
  });
}

/** Underline the place that an error names, and bring it into sight. */
function mark(view: EditorView, error: ErrorView | null): void {
  if (!error?.line || error.line > view.state.doc.lines) {
    view.dispatch({ effects: refuse.of(null) });
    return;
  }
  const line = view.state.doc.line(error.line);
  const indent = line.text.length - line.text.trimStart().length;
  const from = Math.min(line.from + (error.column ? error.column - 1 : indent), line.to);
  const word = error.column ? /^[\w.]+/.exec(line.text.slice(from - line.from))?.[0].length ?? 1 : line.length;
  const to = Math.min(from + word, line.to);
  view.dispatch({ effects: [refuse.of({ from, to, message: error.message }), EditorView.scrollIntoView(from, { y: "center" })] });
}

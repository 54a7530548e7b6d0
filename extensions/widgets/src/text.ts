// Words of a line for colouring, and where two lines differ.

export type Token = [kind: "" | "key" | "num" | "str" | "com" | "fun", text: string];

const KEYWORDS = new Set(("def return for in if elif else while with as import from class lambda not and or is None " +
  "True False let fn define declare ret br call load store getelementptr phi label").split(" "));
const COMMENT: Record<string, string> = { python: "#.*$", llvm: ";.*$", asm: "#(?!-?\\d|:\\w).*$|\\/\\/.*$", text: "$^" };
const REST = "(\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')|(\\b\\d[\\w.+]*)|([%@]?[A-Za-z_][\\w.]*)|(\\s+|.)";
const WORDS = Object.fromEntries(
  Object.entries(COMMENT).map(([language, comment]) => [language, new RegExp(`(${comment})|${REST}`, "g")]),
);
const LONG_LINE = 2000;
const MOST = 0.7; // when more than this share of a line changed, marking a part says nothing

export function tokens(line: string, language: string): Token[] {
  if (line.length > LONG_LINE) return [["", line]];
  const found: Token[] = [];
  for (const match of line.matchAll(WORDS[language] ?? WORDS["text"]!)) {
    const [text, comment, string, number, word] = match;
    if (comment) found.push(["com", text]);
    else if (string) found.push(["str", text]);
    else if (number) found.push(["num", text]);
    else if (word && KEYWORDS.has(word)) found.push(["key", text]);
    else if (word && line[match.index + word.length] === "(") found.push(["fun", text]);
    else found.push(["", text]);
  }
  return found;
}

/** The part [start, stop) of `line` that differs from `other`, by common beginning and end; whole words. */
export function changedPart(line: string, other: string): [number, number] {
  let start = 0;
  const shorter = Math.min(line.length, other.length);
  while (start < shorter && line[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && line[line.length - 1 - end] === other[other.length - 1 - end]) end++;
  const word = (i: number) => /[\w.]/.test(line[i] ?? " ");
  while (start > 0 && word(start - 1) && word(start)) start--;
  while (end > 0 && word(line.length - end) && word(line.length - end - 1)) end--;
  const stop = Math.max(start, line.length - end);
  return stop - start > MOST * line.trim().length ? [0, 0] : [start, stop];
}

/** The tokens of a line, cut where [start, stop) begins and ends; the flag says which lie inside. */
export function marked(line: string, language: string, start: number, stop: number): [Token, boolean][] {
  const found: [Token, boolean][] = [];
  let at = 0;
  for (const [kind, text] of tokens(line, language)) {
    const cuts = [0, start - at, stop - at, text.length].map((cut) => Math.min(Math.max(cut, 0), text.length));
    for (let i = 0; i < 3; i++) {
      const [low, high] = [cuts[i]!, cuts[i + 1]!];
      if (high > low) found.push([[kind, text.slice(low, high)], i === 1]);
    }
    at += text.length;
  }
  return found;
}

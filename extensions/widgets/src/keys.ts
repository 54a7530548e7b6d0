// The keyboard inside a screen.  Nothing is caught while the focus is elsewhere; Escape gives it back.

// Where a layout has no such character at hand, its place on the keyboard serves (a German "+" for "]").
const PLACES: Record<string, string> = { BracketLeft: "[", BracketRight: "]", Slash: "/" };

/** What a key press may mean: by its character, then by its place. */
function keyNames(event: KeyboardEvent): string[] {
  const character = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) return event.altKey ? [character] : [`mod+${event.shiftKey ? "shift+" : ""}${character}`];
  if (event.altKey && character.startsWith("Arrow")) return [`alt+${character}`];
  if (event.altKey) return "[]/".includes(character) ? [character] : [];
  return [character, event.shiftKey ? "" : (PLACES[event.code] ?? "")];
}

function writes(target: EventTarget | null): boolean {
  const fields = "input:not([type=range]):not([type=checkbox]), select, textarea, [contenteditable=true]";
  return target instanceof HTMLElement && target.matches(fields);
}

/** A handler from a table; Escape leaves the screen where the table has nothing else for it; keys with Ctrl or Cmd are named "mod+z" and "mod+shift+z".  A part leaves Escape to its screen. */
export function onKeys(table: Record<string, () => void>, whole = true) {
  return (event: KeyboardEvent): void => {
    if (event.isComposing || event.defaultPrevented) return;
    if (event.key === "Escape" && whole && !table["Escape"]) {
      giveBack(event.currentTarget as HTMLElement);
      event.stopPropagation();
      return;
    }
    if (writes(event.target)) return;
    const action = keyNames(event).map((name) => table[name]).find(Boolean);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
}

/** The focus goes to the notebook's cell around the screen, or to nothing. */
function giveBack(root: HTMLElement): void {
  const around = root.parentElement?.closest<HTMLElement>(".jp-Notebook, [tabindex]");
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  around?.focus({ preventScroll: true });
}

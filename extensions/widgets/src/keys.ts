// The keyboard inside a screen.  Nothing is caught while the focus is elsewhere; Escape gives it back.

/** The name of a key press: the character, or its place on the keyboard where a layout has no such character. */
export function keyName(event: KeyboardEvent): string {
  const places: Record<string, string> = { BracketLeft: "[", BracketRight: "]", Slash: "/" };
  const place = places[event.code];
  if (place && !"[]/".includes(event.key) && !event.shiftKey) return place;
  return event.key.length === 1 && event.key !== "?" ? event.key.toLowerCase() : event.key;
}

function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
}

/** A handler from a table; keys with Ctrl or Cmd are named "mod+z" and "mod+shift+z". */
export function onKeys(table: Record<string, () => void>) {
  return (event: KeyboardEvent): void => {
    if (event.isComposing || event.defaultPrevented) return;
    if (event.key === "Escape") {
      giveBack(event.currentTarget as HTMLElement);
      event.stopPropagation();
      return;
    }
    if (writes(event.target)) return;
    const modified = event.ctrlKey || event.metaKey;
    if (event.altKey) return;
    const name = modified ? `mod+${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}` : keyName(event);
    const action = table[name];
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

// Loops and graphs that a pane shows as text are edited in the place of that text.
import type { Editing } from "./edits";
import { Selecting } from "./selection";
import { GRAPHS, type Shown } from "./workbench_panes";

export abstract class TextEditing extends Selecting {
  /** The text of a program that a pane shows, where it can be edited. */
  programText(at: 0 | 1): Shown | undefined {
    const shown = this.panes[at].mode === "text" ? this.text(this.panes[at].layer) : undefined;
    return shown?.step && this.steps.view?.editable && !this.recorded ? shown : undefined;
  }

  /** Edit the text that a pane shows, in its place, from a line on. */
  editText(at: 0 | 1, line = this.panes[at].active): void {
    const [shown, pane] = [this.programText(at), this.panes[at]];
    if (!shown) return;
    this.set(() => { this.focused = at; pane.active = line; pane.goal = { line }; });
    void this.steps.editAt(shown.step, this.functionOf(pane.layer), { at, layer: pane.layer, line });
  }

  /** What is being edited in the place of a pane's text. */
  editingIn(at: 0 | 1): Editing | null {
    const { editing } = this.steps;
    const [place, pane] = [editing?.place, this.panes[at]];
    const here = place?.at === at && pane.mode === "text" && pane.layer === place.layer && (editing!.gone || editing!.source.function === this.functionOf(pane.layer));
    return here ? editing : null;
  }

  /** The function whose text a layer is. */
  functionOf(layer: string): string {
    return GRAPHS.includes(layer) ? "main" : this.kernel;
  }

  /** A pane that shows something else edits no text any more; what was typed is a draft. */
  override load(): void {
    const place = this.steps.editing?.place;
    if (place && !this.editingIn(place.at)) this.steps.closeEditor();
    super.load();
  }
}

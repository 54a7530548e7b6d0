// What is selected on the screen, what it weighs, and the lines that are its.
import { Fetching } from "./fetching";
import { NONE, alike, lineCount, meets, type Classes, type Mark } from "./links";
import type { ScheduleStore } from "./schedule";
import type { MeasureView, PlaceView, TreeNode } from "./types";
import { COMPILED, NATIVE, placeOf, type Pane } from "./workbench_panes";

export abstract class Selecting extends Fetching {
  selected: Classes = NONE;
  hovered: Classes = NONE;
  /** The loop or block of a kernel's schedule that is selected, with its classes: void once others are selected. */
  private inside: { kernel: string; box: string; classes: Classes } | null = null;
  /** Where the line that was clicked last comes from. */
  place: PlaceView | null = null;
  /** By branch and kernel. */
  measured = new Map<string, MeasureView>();
  /** What was clicked before it was known what it is a part of: selected once that is here. */
  private wish: { known: () => Classes | undefined; coming: () => boolean; from: 0 | 1; what: string; box: () => string } | null = null;

  /** The box of the schedule shown that is selected. */
  get box(): string {
    return this.inside?.classes === this.selected && this.inside.kernel === this.kernel ? this.inside.box : "";
  }

  /** What a line is marked as: what is selected, what is around that, or nothing. */
  mark(layer: string, line: number): Mark {
    return this.links?.mark(layer, line, this.selected, this.box) ?? 0;
  }

  /** The stretches of lines of a layer that are selected. */
  stretches(layer: string): [number, number][] {
    return this.links?.lit(layer, this.selected, this.box) ?? [];
  }

  // --- boxes of the schedule's editor ---

  /** The kernel in whose editor the selection was made, and to which selection each editor was led. */
  private boxed = "";
  private led = new WeakMap<ScheduleStore, Classes>();
  protected abstract editorOf(kernel: string): ScheduleStore | undefined;

  /** The loop or block that is selected, also where no other layer has it. */
  get selectedBox(): TreeNode | undefined {
    if (this.boxed === this.kernel) return this.editorOf(this.kernel)?.node;
    const box = this.links?.boxes.find(([id]) => id === this.box);
    return box && { id: box[0], name: box[1], kind: box[0].startsWith("b:") ? "block" : "loop" } as TreeNode;
  }

  /** What is done in the box that is chosen in the editor; nothing where the program shown is not of its schedule. */
  private inEditor = (): Classes | undefined => {
    const editor = this.editorOf(this.kernel);
    return editor && this.links && (this.links.inBox(editor.view?.moved ?? "", editor.selected) ?? NONE);
  };

  /** A box was chosen in the editor: it is the selection. */
  protected selectBox(): Promise<void> {
    const { kernel } = this;
    const at = this.panes.findIndex((pane) => pane.mode === "editor") as 0 | 1;
    return this.selectKnown("box", this.inEditor, () => this.kernel === kernel && this.linking, at < 0 ? this.focused : at, () => this.editorOf(kernel)?.selected ?? "");
  }

  /**
   * Links or boxes are others: what was selected in the editor is what its box is now, else the editor is led to what is
   * selected.  Where only its schedule has moved, links to the moved program are still to come.
   */
  protected follow(moved = false): void {
    const editor = this.editorOf(this.kernel);
    if (!editor?.view || !this.links || this.wish || (moved && this.links.view.schedule !== editor.view.moved)) return;
    if (this.boxed === this.kernel) {
      const classes = this.inEditor() ?? NONE;
      if (this.box !== editor.selected || !alike(classes, this.selected)) this.tell(classes, editor.selected);
    } else if (this.selected.size > 0 && this.led.get(editor) !== this.selected) {
      this.led.set(editor, this.selected);
      const box = this.box || this.links.blockOf(this.selected);
      if (box !== editor.selected && editor.nodes.some(({ id }) => id === box)) editor.select(box, true);
    }
  }

  /** What was measured of a kernel of the branch shown. */
  time(kernel: string): MeasureView | undefined {
    return this.measured.get(`${this.view?.branch ?? 0} ${kernel}`);
  }

  /** Seconds of one run of the model that parts of it take, of kernels that were measured. */
  secondsOf(classes: Classes): number {
    let sum = 0;
    for (const kernel of this.kernels) {
      const measured = this.time(kernel.name);
      if (!measured || kernel.classes.length === 0) continue;
      const held = kernel.parts.reduce((part, of, i) => part + (classes.has(kernel.classes[i]!) ? of : 0), 0);
      sum += measured.seconds * kernel.calls * held;
    }
    return sum;
  }

  choose(kernel: string): void {
    this.set(() => { this.wish = null; this.leave(""); this.kernel = kernel; for (const one of this.panes) { one.active = 0; this.toBegin(one); } });
    this.load();
  }

  hover(classes: Classes): void {
    if (classes !== this.hovered) this.set(() => (this.hovered = classes));
  }

  protected reselect(classes: Classes): void {
    this.hovered = NONE;
    this.tell(classes);
  }

  /** The lines of what is selected are on their way. */
  get linking(): boolean {
    return !this.links && this.kernel !== "" && this.refusal("schedule") === undefined && !this.unlinked.has(this.kernel);
  }

  /** What is selected, by name, whichever kernel is shown; where its links are not here, the kernels that carry it out. */
  get namesSelected(): string[] {
    const names = [...this.tables.values()].flatMap((links) => links.names(this.selected));
    return names.length > 0 ? [...new Set(names)] : this.holders;
  }

  protected tell(classes: Classes, box = ""): void {
    this.set(() => {
      this.selected = classes;
      this.inside = box ? { kernel: this.kernel, box, classes } : null;
    });
    this.follow();
    void this.connection.request("select", { classes: [...classes] }, "select").catch(() => {});
  }

  /** Whether this was clicked, and is not selected yet since its links are on their way; without a name, anything. */
  awaits(what?: string): boolean {
    return this.wish !== null && (what === undefined || what === this.wish.what);
  }

  /** Select what was clicked: at once where its links are here, or cannot come, else when they are here. */
  async selectKnown(what: string, known: () => Classes | undefined, coming: () => boolean, from: 0 | 1, box = () => ""): Promise<void> {
    const classes = known() ?? (coming() ? undefined : NONE);
    if (classes) return this.select(classes, from, what, box());
    this.boxed = what === "box" ? this.kernel : "";
    this.set(() => { this.focused = from; this.wish = { known, coming, from, what, box }; });
  }

  protected override forget(): void {
    this.wish = this.inside = null; // boxes are named in the program that they are of
    super.forget();
  }

  override linked(): void {
    const wish = this.wish;
    if (!wish) return this.follow();
    const classes = wish.known();
    if (classes) void this.carry(classes, wish.from, wish.what, wish.box());
    else if (!wish.coming()) this.set(() => (this.wish = null));
  }

  /** Select parts of the model; the kernel that carries them out is shown, and the other pane goes there. */
  async select(classes: Classes, from: 0 | 1, what = "", box = ""): Promise<void> {
    this.focused = from;
    await this.carry(classes, from, what, box);
  }

  /** What was inspected beside the selection, the line and the box that were clicked, is not where something else was. */
  leave(what: string, classes = this.selected): void {
    if (!what.startsWith("text ")) {
      this.connection.cancel("place"); // which may be under way for a line of another kernel
      this.place = null;
    }
    this.tools.keep(what, classes);
  }

  private async carry(classes: Classes, from: 0 | 1, what: string, box: string): Promise<void> {
    this.wish = null;
    this.leave(what, classes);
    this.boxed = what === "box" ? this.kernel : "";
    this.tell(classes, box);
    const holder = this.kernels.find((kernel) => kernel.name === this.kernel && meets(new Set(kernel.classes), classes))
      ?? this.kernels.find((kernel) => meets(new Set(kernel.classes), classes));
    if (holder && holder.name !== this.kernel) {
      this.set(() => (this.kernel = holder.name));
      this.load();
      await this.loadLinks();
    }
    this.set(() => this.toSelection(this.panes[1 - from]!));
  }

  /** The kernels that carry out a part of what is selected, those of the most arithmetic first; lines are counted in one. */
  get holders(): string[] {
    return this.selected.size === 0 ? [] : this.kernels.filter(({ classes }) => classes.some((number) => this.selected.has(number))).map(({ name }) => name);
  }

  /** Show another kernel of what is selected, and its lines. */
  async showHolder(name: string): Promise<void> {
    this.set(() => { this.leave(""); this.kernel = name; for (const one of this.panes) one.active = 0; });
    this.load();
    await this.loadLinks();
    this.set(() => { for (const one of this.panes) this.toSelection(one); });
  }

  /** Select what a call of a kernel carries out; both panes go there. */
  async selectCall(classes: number[]): Promise<void> {
    await this.select(new Set(classes), this.focused);
    this.set(() => this.toSelection(this.panes[this.focused]!));
  }

  /** A line was clicked: select what it holds, and ask where it comes from. */
  async selectLine(at: 0 | 1, line: number): Promise<void> {
    const { layer } = this.panes[at];
    const kernel = this.kernel;
    this.panes[at].active = line;
    const selecting = this.selectKnown(`text ${layer} ${line}`, () => {
      const links = this.tables.get(kernel || this.kernel); // no kernel was known yet
      return links?.has(layer) || links?.native ? links.on(layer, line) : undefined;
    }, () => this.refusal("schedule") === undefined && !this.unlinked.has(kernel || this.kernel), at, () => this.links?.boxOn(layer, line) ?? "");
    if (NATIVE.includes(layer)) {
      await this.ofShown(async (same) => {
        const view = (await this.connection.request("place", { layer, kernel, line: line + 1 }, "place")).view as PlaceView;
        if (same() && kernel === this.kernel) this.set(() => (this.place = view));
      });
    } else this.set(() => this.leave(""));
    await selecting;
  }

  /** Go to the statement that most instructions are run for. */
  hottest(): void {
    const at = NATIVE.includes(this.panes[this.focused].layer) ? this.focused : this.panes.findIndex((one) => NATIVE.includes(one.layer));
    const shown = this.panes[at] && this.text(this.panes[at]!.layer);
    if (!shown || shown.hottest === 0) return;
    const hot = shown.hottest - 1;
    this.set(() => { this.focused = at as 0 | 1; this.panes[at]!.goal = { line: hot }; this.acted++; });
    void this.selectLine(at as 0 | 1, hot);
  }

  /** Bring the first selected line into sight; of machine code, the one that most is done on: a wrapper comes first there. */
  protected toSelection(shown: Pane): void {
    const stretches = this.stretches(shown.layer);
    if (stretches.length > 0) shown.goal = { line: this.busiest(shown.layer, stretches) };
  }

  /** The same; of machine code of which nothing is selected, its hottest statement. */
  protected override toBegin(shown: Pane): void {
    const hot = COMPILED.includes(shown.layer) && shown.active === 0 ? (this.text(shown.layer)?.hottest ?? 0) : 0;
    if (hot > 0) shown.goal = { line: hot - 1 };
    this.toSelection(shown);
  }

  private busiest(layer: string, stretches: [number, number][]): number {
    let found = stretches[0]![0];
    const text = COMPILED.includes(layer) ? this.text(layer) : undefined;
    if (!text) return found;
    const hot = text.hottest - 1;
    for (const [first, end] of stretches) {
      if (first <= hot && hot < end) return hot;
      for (let line = first; line < end; line++) if ((text.trips[line] ?? 0) > (text.trips[found] ?? 0)) found = line;
    }
    return found;
  }

  /** Move the line that keys speak of, and select what is on it. */
  move(by: number): void {
    const shown = this.panes[this.focused];
    const total = this.text(shown.layer)?.lines.total ?? 0;
    if (shown.mode !== "text" || total === 0) return;
    const lines = this.visible(shown.layer);
    const next = (lines ? placeOf(lines, shown.active) : shown.active) + by;
    const place = Math.min(Math.max(next, 0), (lines?.length ?? total) - 1);
    const line = lines ? lines[place]! : place;
    this.set(() => { shown.active = line; shown.goal = { line }; });
    void this.selectLine(this.focused, line);
  }

  /** How many lines of a layer are selected; of graphs that are drawn, nothing is counted. */
  lit(layer: string): number {
    return lineCount(this.stretches(layer));
  }
}

"""Texts of what is read without a kernel: snapshots, static HTML of programs, pages of one file."""

from __future__ import annotations


class Snapshot:
    """See the module's header."""

    language = "en"
    """The language of pages, as HTML names it."""

    # displays
    schedule = "schedule"
    nothing_done = "# nothing done yet"
    no_picture = "# no picture: no Graphviz answers (pip install graphviz-pure)"
    further_kinds = "... further kinds"

    def lines(self, count: int) -> str:
        return f"{count} lines"

    def more_lines(self, count: int) -> str:
        return f"... {count} more lines"

    def more_lines_in_script(self, count: int) -> str:
        return f"# ... {count} more lines; script() gives all of them"

    def more_lines_in_part(self, count: int) -> str:
        return f"# ... {count} more lines; look at a part"

    def more_functions(self, count: int) -> str:
        return f"... {count} more functions"

    # snapshots
    graph = "graph, operands first:"
    graph_heading = "The graph, operands first"
    loops_when_lowered = "loops: drawn when the kernels have been lowered (look at a kernel on the screen)"
    no_kernels = "loops: the program has no kernels"

    as_saved = "As it was when the notebook was saved.  Run the cell to open the live screen."

    def saved_view(self, title: str) -> str:
        return f"Saved view of {title}"

    def saved_view_with_picture(self, title: str) -> str:
        return f"Saved view of {title}, as picture and text"

    def saved_view_as_text(self, title: str) -> str:
        return f"Saved view of {title}, as text"

    def schedule_of(self, function: str) -> str:
        return f"schedule of {function}"

    def no_loops(self, code: str, message: str) -> str:
        return f"loops: {code}: {message}"

    def loops_of(self, function: str) -> str:
        return f"loops of {function}:"

    def loops_heading(self, function: str) -> str:
        return f"Loops of {function}"

    def more_boxes(self, count: int) -> str:
        return f"... {count} more boxes"

    def more_loops(self, count: int) -> str:
        return f"... {count} more loops and blocks"

    def live(self, title: str) -> str:
        """What stands for a live view where widgets are not shown."""
        return (
            f"{title}: a screen of the workbench, live while its kernel runs. "
            "Run the cell to open it; what it showed when the notebook was saved is below."
        )

    # pages
    def recorded(self, title: str, left_out: str) -> str:
        """What a page can do; `left_out` is what was too much for it."""
        left = f" Left out, since it would be too much: {left_out}." if left_out else ""
        works = "looking, selecting, stepping and opening groups work; changing asks for a notebook."
        return f"{title}, recorded: {works}{left}"

    graphs = "graphs"
    graph_texts = "texts of the graph"
    first_kernel = "the first kernel"
    steps = "steps"
    rewrites = "rewrites"
    opened_groups = "opened groups"
    kernels = "kernels"
    schedules = "schedules"

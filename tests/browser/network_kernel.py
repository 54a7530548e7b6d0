"""A kernel's schedule in the network's screen, and the figures that follow from it: what its tests compare with."""

from __future__ import annotations

import re
from math import ceil, prod
from typing import Any

from playwright.sync_api import Locator

from tests.browser.editor_parts import EditorParts
from tests.browser.shown import Shown
from workbench.schedule import Schedule

CONVOLUTION = "fused_nn_conv2d_nn_bias_add_clip"
DENSE = "fused_nn_contrib_dense_pack_nn_bias_add"
FLOAT, LINE = 4, 64
ROWS = 112
"""Of the convolution's result."""


class Kernel(EditorParts):
    """The schedule of a kernel in the network's screen."""

    def __init__(self, shown: Shown, name: str, mode: str) -> None:
        super().__init__(shown.page)
        self.shown, self.name = shown, name
        shown.layers("Schedule")
        shown.pane("A").get_by_role("combobox", name="Kernel").select_option(name)
        self.in_mode(mode)

    @property
    def schedule(self) -> Schedule:
        """What the session has now, with all that was done on the screen."""
        return self.shown.screen.session.schedule(self.name)

    @property
    def extents(self) -> dict[str, int]:
        """Of the loops around the block that does most."""
        block = "conv2d" if self.name == CONVOLUTION else "dense"
        return {loop.var.name: int(loop.extent.value) for loop in self.schedule.state.tree.blocks[block].loops}

    def reference(self, made: Schedule, block: str, name: str) -> Any:
        loops = [loop.var.name for loop in made.state.tree.blocks[block].loops]
        return made.get_loops(block)[loops.index(name)]

    def with_(self, primitive: str, *loops: str, block: str = "conv2d") -> Schedule:
        """The schedule with one primitive more, made in Python."""
        made = self.schedule.copy()
        getattr(made, primitive)(*(self.reference(made, block, name) for name in loops))
        return made

    def box(self, name: str) -> Locator:
        """A loop's whole box, with what is inside."""
        return self.loop(name).locator("xpath=..")

    def row(self, loop: str) -> Locator:
        """A loop's row in the lens."""
        return self.page.locator(".wb-lens-loops tbody tr").filter(has=self.page.get_by_text(loop, exact=True))

    def ask(self, title: str) -> None:
        """Open something below the lens."""
        button = self.page.get_by_role("button", name=title, exact=True)
        if button.get_attribute("aria-expanded") != "true":
            button.click()

    def edit(self, before: str, after: str) -> None:
        """Change a text of the Python, and replay it."""
        self.page.get_by_role("button", name="Edit the Python").click()
        text = self.page.get_by_role("textbox", name="Python of the schedule, to edit")
        code = text.input_value()
        assert code.count(before) == 1
        text.fill(code.replace(before, after))
        text.press("Control+Enter")

    def around(self, block: str) -> list[list[str]]:
        """Names and extents of the boxes around a block's, outermost first."""
        return self.block(block).evaluate(
            """head => {
                const found = [];
                let box = head.closest('[role=treeitem]').parentElement.closest('[role=treeitem]');
                for (; box; box = box.parentElement.closest('[role=treeitem]'))
                    found.unshift(['.wb-iter', '.wb-extent'].map((part) => box.querySelector(part).textContent));
                return found;
            }"""
        )

    def becomes(self, made: Schedule) -> None:
        program = made.script()
        self.shown.harness.wait_until(lambda: self.schedule.script() == program, made.code()[-80:])


def number(text: str) -> int:
    return int(text.replace(",", ""))


def iterations(words: Locator) -> list[dict[str, int]]:
    """What the loops stand at in the two iterations of a witness."""
    return [{name: int(at) for name, at in re.findall(r"(\w+)=(\d+)", one)} for one in words.all_inner_texts()]


def said(text: str) -> tuple[float, float]:
    """Seconds and operations a second of a measurement as it is told."""
    found = re.search(r"([\d.]+) ([µm]?)s, ([\d.]+) GFLOP/s", text)
    assert found is not None, text
    return float(found[1]) * {"": 1.0, "m": 1e-3, "µ": 1e-6}[found[2]], float(found[3]) * 1e9


def bytes_told(count: int) -> str:
    """As the screen writes them."""
    if count < 1024:
        return f"{count} B"
    return f"{round(count / 1024, 1):g} KiB" if count < 1 << 20 else f"{round(count / (1 << 20), 1):g} MiB"


def touched(e: dict[str, int], loop: str) -> list[int]:
    """Bytes of the weights, the sum and the padded image while a loop of the convolution (stride 2) runs once."""
    order = list(e)
    varied = {name: e[name] if order.index(name) >= order.index(loop) else 1 for name in order}
    channels, height, width, blocks, lanes = (varied[name] for name in ("ax5", "ax6", "ax7", "ax1", "ax4"))
    pixels = varied["i3_0"] * varied["ax3"]
    span = 2 * (pixels - 1) + width if width > 1 else pixels
    weights = blocks * channels * height * width * lanes
    return [FLOAT * count for count in (weights, blocks * pixels * lanes, channels * height * span)]


def touched_told(bytes_: list[int]) -> str:
    return " + ".join(
        f"{name} {bytes_told(one)}" for name, one in zip(("p1", "conv2d", "data_pad"), bytes_, strict=True)
    )


def block_and_row(e: dict[str, int], at: dict[str, int]) -> tuple[int, int]:
    """Where the convolution's loops stand: the block of channels and the row of the result."""
    blocks, row = divmod(at["i0_i1_0_i2_fused"], ROWS)
    return blocks * e["ax1"] + at["ax1"], row + at["ax2"]


def visited(e: dict[str, int], visit: int) -> list[str]:
    """What the captions of the weights, the sum and the padded image say at a visit of the convolution."""
    digits: dict[str, int] = {}
    for name in reversed(e):
        visit, digits[name] = divmod(visit, e[name])
    (block, y), x = block_and_row(e, digits), digits["i3_0"] * e["ax3"] + digits["ax3"]
    c, h, w, lane = (digits[name] for name in ("ax5", "ax6", "ax7", "ax4"))
    return [f"now {one}" for one in ([block, c, h, w, lane], [0, block, y, x, lane], [0, c, 2 * y + h, 2 * x + w])]


def lines_of(dense: Kernel, *names: str) -> int:
    """Cache lines of buffers that the program has."""
    return sum(ceil(size / LINE) for name, size in sizes(dense).items() if name in names)


def lines_touched(dense: Kernel) -> int:
    """Cache lines that the compiled kernel touches: of the sum, a tile's, which each iteration takes anew."""
    tile = FLOAT * dense.extents["ax1"] * dense.extents["ax2"]
    return lines_of(dense, *(name for name in sizes(dense) if name != "dense")) + ceil(tile / LINE)


def sizes(kernel: Kernel) -> dict[str, int]:
    """Bytes of each buffer that a kernel touches."""
    found: dict[str, int] = {}
    for site in kernel.schedule.state.tree.leaves:
        for region in (*site.block.reads, *site.block.writes):
            found[region.buffer.name] = FLOAT * prod(int(one.value) for one in region.buffer.shape)
    return found

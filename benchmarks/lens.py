"""The tile lens in Chromium: pictures a second while a tile's edge is dragged, and the time from release to figures.

    python -m benchmarks.lens                # 64 x 64 x 64, 256 x 256 x 256 and 512 x 512 x 512

Each picture is a whole one: formulas, drawing and layout, one for every step of the pointer.  The wall time between
the first picture and the last is divided by their number; the page is the one that the browser tests draw.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from typing import Any, Final

from tests.browser.harness import Harness
from tests.browser.lens_programs import matmul_tiled
from workbench.ui.lens import TileLens

SIZES: Final = (64, 256, 512)
WANTED: Final = {64: 30, 256: 10}
"""Pictures a second that a drag must reach."""
STEPS: Final = 90
RELEASES: Final = 5

# Moves the pointer once a picture, from tile to tile, and waits until the picture is drawn.
DRAG: Final = """async ([steps, size]) => {
  const edge = document.querySelector('[aria-label="Tile edge j_1"]');
  const around = edge.parentElement.getBoundingClientRect();
  const across = (factor) => around.x + factor * around.width / size;
  const at = (factor) => ({ bubbles: true, pointerId: 1, clientX: across(factor), clientY: around.y });
  edge.setPointerCapture = () => {};
  const first = Number(edge.getAttribute('aria-valuenow'));
  edge.dispatchEvent(new PointerEvent('pointerdown', at(first)));
  const picture = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const shown = new Set();
  const began = performance.now();
  for (let step = 1; step <= steps; step++) {
    edge.dispatchEvent(new PointerEvent('pointermove', at(first + (step % 2 ? 1 : -1) * (1 + step % (size / 8 - 2)))));
    await picture();
    shown.add(edge.getAttribute('aria-valuenow'));
  }
  const seconds = (performance.now() - began) / 1000;
  edge.dispatchEvent(new PointerEvent('pointercancel', at(first)));
  return [steps / seconds, shown.size];
}"""


def measured(browser: Any, size: int) -> tuple[float, int, list[float]]:
    """Pictures a second, how many different tiles they showed, and seconds from release to figures."""
    context = browser.new_context(viewport={"width": 1000, "height": 720})
    page = context.new_page()
    harness = Harness(page)
    tile = max(size // 8, 4)
    harness.show(TileLens(matmul_tiled("IJKikj", size // 4, tile, size // 2, size)))
    page.wait_for_selector(".wb-lens-result strong")
    page.evaluate(DRAG, [STEPS // 3, size])
    rate, tiles = page.evaluate(DRAG, [STEPS, size])
    edge = page.get_by_role("slider", name="Tile edge j_1").first
    spent: list[float] = []
    for _ in range(RELEASES):
        edge.focus()
        page.keyboard.press("ArrowRight")
        asked = len(harness.asked)
        start = time.perf_counter()
        page.keyboard.press("Enter")
        harness.wait_until(lambda asked=asked: len(harness.asked) >= asked + 2, "released and measured")
        page.wait_for_selector(".wb-lens-result strong")
        spent.append(time.perf_counter() - start)
    context.close()
    return rate, tiles, spent


def main(sizes: tuple[int, ...] = SIZES) -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        print("product        pictures a second (wanted)   tiles shown   release to figures, median (worst)")
        for size in sizes:
            rate, tiles, spent = measured(browser, size)
            wanted = f"({WANTED[size]})" if size in WANTED else ""
            name = " x ".join([str(size)] * 3)
            print(
                f"{name:16} {rate:8.1f} {wanted:10} {tiles:20} {statistics.median(spent):16.2f} s ({max(spent):.2f} s)"
            )
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), help="extents of the products")
    main(tuple(parser.parse_args().sizes))

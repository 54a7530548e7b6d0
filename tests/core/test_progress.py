"""Progress is told to whoever listens, outermost work first, and every bar is closed however the work ends."""

from __future__ import annotations

import pytest

from workbench.core import progress


class Bars:
    """Records what would be shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, title: str, total: int) -> _Recorded:
        self.lines.append(f"{title} of {total}")
        return _Recorded(self, title)


class _Recorded:
    def __init__(self, bars: Bars, title: str) -> None:
        self.bars = bars
        self.title = title
        self.open = True

    def advance(self, count: int) -> None:
        self.bars.lines.append(f"{self.title} +{count}")

    def note(self, text: str) -> None:
        if text:
            self.bars.lines.append(f"{self.title}: {text}")

    def close(self) -> None:
        if self.open:
            self.bars.lines.append(f"{self.title} closed")
        self.open = False


def test_with_nobody_listening_nothing_is_done() -> None:
    assert list(progress.track(iter("ab"), "work")) == ["a", "b"]
    with progress.task("work", 3) as task:
        task.advance()


def test_the_outermost_counts_and_the_inner_is_noted() -> None:
    bars = Bars()
    with progress.listening(bars):
        for _ in progress.track("xy", "steps", str.upper):
            for _ in progress.track("ab", "kernels"):
                pass
    assert bars.lines == [
        "steps of 2",
        "steps: X",
        "steps: kernels 1/2",
        "steps: kernels 2/2",
        "steps +1",
        "steps: Y",
        "steps: kernels 1/2",
        "steps: kernels 2/2",
        "steps +1",
        "steps closed",
    ]


def test_work_of_one_part_leaves_the_bar_to_what_is_inside() -> None:
    bars = Bars()
    with progress.listening(bars), progress.task("steps", 1):
        for _ in progress.track("ab", "kernels"):
            pass
    assert bars.lines[0] == "kernels of 2"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_bars_are_closed_when_work_ends_early(error: type[BaseException]) -> None:
    bars = Bars()
    kept = None
    try:
        with progress.listening(bars):
            for _ in progress.track("ab", "steps"):
                for _ in progress.track("ab", "kernels"):
                    raise error
    except BaseException as raised:
        kept = raised  # holds the frames, so that the loops' iterators are still alive
    assert bars.lines[-1] == "steps closed"
    with progress.listening(bars):
        for _ in progress.track("ab", "more"):
            pass
    del kept
    assert bars.lines[-1] == "more closed"
    assert "more of 2" in bars.lines


def test_a_listener_inside_another_does_not_show_twice() -> None:
    bars, inner = Bars(), Bars()
    with progress.listening(bars), progress.listening(inner):
        list(progress.track("ab", "work"))
    assert inner.lines == [] and bars.lines[0] == "work of 2"
    with progress.listening(bars), progress.listening(None):
        list(progress.track("ab", "silent"))
    assert "silent of 2" not in bars.lines

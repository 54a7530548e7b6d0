"""What a nightly run adds: more random examples, and one table of what every sweep did.

    make nightly        # the rest of a night that was cut, if nothing has changed since
    make nightly WORKBENCH_NIGHTS=1     # sweeps of random programs whole, not a fifth of them

Results are kept by commit under `.nightly`.  A test that passed on this commit, with no file changed, is not run again,
so that the table is of one state however often the night was cut.  A sweep tells its counts by pytest's
`record_property(name, number)`; those of its parts are added.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from hypothesis import settings

ROOT: Final = Path(__file__).resolve().parents[1]
KEPT: Final = ROOT / ".nightly"
_WHY: Final = 4000
"""Characters of a failure that are kept: half of them of its beginning, half of its end."""
PROFILE: Final = "WORKBENCH_HYPOTHESIS"
"""The variable that names the profile of examples."""
NIGHTS: Final = "WORKBENCH_NIGHTS"
"""The variable that says over how many nights the long sweeps are spread; five if it is not set."""
BEGUN: Final = "WORKBENCH_NIGHT_BEGUN"
"""The variable by which workers learn how much was known at the beginning."""


def examples(count: int) -> int:
    """How many random examples a property gets: `count`, more in a nightly run by the profile's measure."""
    assert settings.default is not None
    return count * settings.default.max_examples // 100


NIGHTLY: Final = pytest.mark.nightly
_Part = TypeVar("_Part")


def tonight(parts: Iterable[_Part]) -> list[_Part]:
    """This night's share of a sweep of random programs: every fifth part, the next commit's night has the next ones.

    Suites that are lists of known cases run whole each night.  Random ones have no end anyway, and what a night finds
    of them is what no night before has drawn.
    """
    share, nights = _share()
    return list(islice(parts, share, None, nights))


def some(cases: Iterable[Any], one_in: int) -> list[Any]:
    """Parameters of which every run has one in so many, from the first on, and the night all; as in `daily`."""
    return [_param(case, at % one_in == 0) for at, case in enumerate(cases)]


def daily(cases: Iterable[Any], *of_the_day: Any) -> list[Any]:
    """Parameters of which every run has those named, and the night all; a tuple is of several parameters."""
    return [_param(case, case in of_the_day) for case in cases]


def _param(case: Any, every_day: bool) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=() if every_day else NIGHTLY)


def _share() -> tuple[int, int]:
    """(which share of the random sweeps this night has, of how many)."""
    nights = int(os.environ.get(NIGHTS, "5"))
    return _commits() % nights, nights


@cache
def _commits() -> int:
    """How many commits there are: the number of the night; 0 outside of a repository."""
    words = ("git", "rev-list", "--count", "HEAD")
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return int(told or 0)


def _errors(text: str) -> str:
    """The first lines of what failed, as pytest marks them."""
    marked = (line for line in text.splitlines() if line.startswith("E ") and line[1:].strip())
    return "\n".join(line[:200] for line in islice(marked, 12))


@dataclass
class Result:
    """How a test went."""

    test: str
    sweep: bool
    """Whether it runs at night only."""
    outcome: str
    seconds: float
    told: dict[str, float] = field(default_factory=dict)
    why: str = ""
    """The end of what is said of a failure; a night that is cut prints nothing else of it."""

    @property
    def row(self) -> str:
        """Where it stands in the table: a sweep by its function, all others by their folder."""
        return self.test.partition("[")[0] if self.sweep else "/".join(self.test.split("/")[:2])


def state() -> tuple[str, bool]:
    """(the commit, whether the files are as it says)."""

    def git(*words: str) -> str:
        return subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD"), not git("status", "--porcelain")


class Night:
    """The plugin: keeps results by commit, leaves out what has passed, prints the table."""

    def __init__(self, keeping: bool) -> None:
        self.commit, self.clean = state()
        self.keeping = keeping
        self.path = KEPT / f"{self.commit}.{os.environ.get(PROFILE, 'ci')}.jsonl"  # fewer examples are another run
        known = self.path.stat().st_size if self.path.exists() else 0
        if keeping:
            os.environ[BEGUN] = str(known)
        self.begun = int(os.environ.get(BEGUN, known))
        """How much was known when the night began: a worker that replaces another one leaves out the same tests."""
        self.results = {result.test: result for result in read(self.path, self.begun)} if self.clean else {}
        self.expected: set[str] = set()
        """The tests of this run, as far as they are known."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has passed on this commit."""

        def passed(item: pytest.Item) -> bool:
            result = self.results.get(_name(item.nodeid))
            return result is not None and result.outcome == "passed"

        config.hook.pytest_deselected(items=[item for item in items if passed(item)])
        items[:] = [item for item in items if not passed(item)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers: what is to be run."""
        self.expected.update(_name(item.nodeid) for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """With workers: what is to be run."""
        self.expected.update(map(_name, ids))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported has failed, whatever tests it holds."""
        if self.keeping and report.failed:
            self.results[report.nodeid] = Result(report.nodeid, False, "failed", 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a result: that of the call, or of a setup that did not come to it."""
        if not self.keeping or (report.when != "call" and report.outcome == "passed"):
            return
        told = {name: float(value) for name, value in report.user_properties}
        test = _name(report.nodeid)
        function = test.partition("[")[0]  # what a worker that crashed was at comes without marks
        sweep = "nightly" in report.keywords or any(
            known.sweep and known.row == function for known in self.results.values()
        )
        text = "\n".join([report.longreprtext, *(told for _, told in report.sections)]) if report.failed else ""
        why = text if len(text) <= _WHY else f"{text[: _WHY // 2]}\n...\n{_errors(text)}\n...\n{text[-_WHY // 2 :]}"
        made = Result(test, sweep, str(report.outcome), report.duration, told, why)
        self.results[test] = made
        if self.clean:
            self.path.parent.mkdir(exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(made)) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table, last."""
        if self.keeping:
            if self.clean and state() != (self.commit, True):
                self.clean = False
                self.path.unlink(missing_ok=True)  # files changed while it ran: these are no results of the commit
            terminalreporter.section("the night")
            share, nights = _share()
            terminalreporter.write_line(f"sweeps of random programs: part {share + 1} of {nights}")
            state_told = f"{self.commit}{'' if self.clean else ', with changes'}"
            for line in table(state_told, list(self.results.values()), self.expected - set(self.results)):
                terminalreporter.write_line(line)


def _name(nodeid: str) -> str:
    """A test's name without the group that xdist adds; parameters may hold the sign as well."""
    return re.sub(r"@[^\]]*$", "", nodeid)


def read(path: Path, size: int | None = None) -> Iterator[Result]:
    """The results kept of a commit in the first `size` bytes; a line that a cut left unfinished is passed over."""
    kept = path.read_bytes()[:size] if path.exists() else b""
    for line in kept.decode("utf-8", "replace").splitlines():
        try:
            yield Result(**json.loads(line))
        except ValueError:
            continue


def table(commit: str, results: list[Result], not_run: Collection[str] = ()) -> list[str]:
    """A line for each sweep and each folder of other tests; the last says what a night that was cut did not come to."""
    rows: dict[tuple[bool, str], list[Result]] = {}
    for result in results:
        rows.setdefault((not result.sweep, result.row), []).append(result)
    width = max((len(name) for _, name in rows), default=0)
    lines = [f"commit {commit}", f"{'':{width}}  passed  failed  skipped  minutes  counted"]
    for (_, name), found in sorted(rows.items()):
        lines.append(f"{name:{width}}  {_counted(found)}")
    whole = [replace(result, told={}) for result in results]
    lines.append(f"{'all':{width}}  {_counted(whole)}")
    if not_run:
        functions = sorted({test.partition("[")[0] for test in not_run})
        more = f" and {len(functions) - 8} more" if len(functions) > 8 else ""
        lines.append(f"NOT RUN: {len(not_run)} tests, of {', '.join(functions[:8])}{more}")
    return lines


def _counted(results: list[Result]) -> str:
    outcomes = Counter(result.outcome for result in results)
    told: Counter[str] = Counter()
    for result in results:
        told.update({name: int(value) for name, value in result.told.items()})
    minutes = sum(result.seconds for result in results) / 60
    counts = ", ".join(f"{name} {value:,}" for name, value in told.items())
    return f"{outcomes['passed']:6}  {outcomes['failed']:6}  {outcomes['skipped']:7}  {minutes:7.1f}  {counts}".rstrip()

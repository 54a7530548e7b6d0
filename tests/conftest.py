"""What every test may use: the `golden` fixture, hypothesis profiles, one worker for each module.

Golden texts lie under `tests/golden/`, mirroring the test's own path.  After a wanted change:

    pytest tests/tir --update-golden
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.nightly import PROFILE, Night

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
SINGLE_TESTS = ("property", "notebooks")
"""Folders whose tests share nothing costly: each goes to the next free worker."""

settings.register_profile(
    "ci", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", parent=settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get(PROFILE, "ci"))


CACHE = "WORKBENCH_CACHE_DIR"


def pytest_configure(config: pytest.Config) -> None:
    """A cache of compiled code for this run alone, shared by its workers and the processes that tests start."""
    worker = hasattr(config, "workerinput")
    if config.getoption("--night"):
        config.pluginmanager.register(Night(keeping=not worker))
    if worker:
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a process that a test starts would compile 450 modules for itself
    sys.dont_write_bytecode = False
    os.environ[CACHE] = tempfile.mkdtemp(prefix="workbench-tests-")
    os.environ["WORKBENCH_CHANGES"] = "off"  # one test is not offered what another did; tests of this switch it on
    os.environ.pop("WORKBENCH_CACHE", None)
    os.environ.pop("WORKBENCH_CACHE_SHARED", None)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(CACHE), ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden texts, compare nothing")
    parser.addoption("--night", action="store_true", help="keep results by commit and print one table: `make nightly`")


class ByModule(LoadScopeScheduling):
    """The tests of one module go to one worker: its fixtures are costly, and its tests are tried in their order."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::")[0]
        return nodeid if module.split("/")[1] in SINGLE_TESTS else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByModule:
    """In place of `--dist loadgroup`, which pytest 9.2 made a plain `load`: it no longer reads a changed node name."""
    return ByModule(config, log)


class Golden:
    """Compares a text with the committed one: `golden(text)`, or `golden(text, "part", suffix=".py")`."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        module = request.path.relative_to(TESTS).with_suffix("")
        test = re.sub(r"[^\w.=+-]+", "_", request.node.name).strip("_")
        self._folder = GOLDEN / module.parent / module.name.removeprefix("test_")
        self._test = test.removeprefix("test_")
        self._update = bool(request.config.getoption("--update-golden"))

    def path(self, name: str = "", suffix: str = ".txt") -> Path:
        """Where the golden text of this test lies; `name` tells apart several of one test."""
        return self._folder / f"{self._test}{'.' + name if name else ''}{suffix}"

    def __call__(self, text: str, name: str = "", suffix: str = ".txt") -> None:
        path = self.path(name, suffix)
        text = text if text.endswith("\n") else text + "\n"
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no {path.relative_to(TESTS)}; if this is right, --update-golden:\n{text}")
        expected = path.read_text(encoding="utf-8")
        if text == expected:
            return
        difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), "golden", "found", lineterm="", n=4)
        pytest.fail(
            f"differs from {path.relative_to(TESTS)} (wanted? --update-golden):\n" + "\n".join(difference),
            pytrace=False,
        )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """See `Golden`."""
    return Golden(request)


@pytest.fixture(scope="module", autouse=True)
def forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """What functions of a test module keep (`functools.cache`) goes with the module: each full collection of garbage
    looks at all that a worker holds."""
    yield
    for value in vars(request.module).values():
        if getattr(value, "__module__", "") == request.module.__name__ and hasattr(value, "cache_clear"):
            value.cache_clear()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard: a run of the tests in the background begins without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

"""The front end writes text, never markup, and asks nobody but the kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for path in (ROOT / "extensions").rglob("*")
    if path.suffix in {".ts", ".tsx", ".js", ".mjs", ".css", ".html"} and "node_modules" not in path.parts
)
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write"
    r"|\beval\b|new Function|javascript:"
)
REMOTE = re.compile(r"https?://|//cdn|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|@import|url\(")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_write_no_markup_and_reach_nowhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert REMOTE.findall(text) == []


@pytest.mark.parametrize("name", ["widgets.js", "stub.js"])
def test_the_bundle_reaches_nowhere(name: str) -> None:
    text = (ROOT / "workbench" / "ui" / "static" / name).read_text(encoding="utf-8")
    found = set(re.findall(r"https?://[^\"'`\s]+", text))
    # Names of markup languages, which are never opened.
    assert found <= {f"http://www.w3.org/{name}" for name in ("1998/Math/MathML", "1999/xhtml", "2000/svg")}
    assert not re.search(r"\beval\(|new Function\(|document\.write", text)


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((ROOT / "extensions" / "widgets" / "package-lock.json").read_text())
    assert len(lock["packages"]) > 1
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


UNUSED = {"@lezer/lr", "crelt"}
"""Packages that others ask for, and of which nothing gets into the bundle."""


def test_the_notice_names_every_package_of_the_bundle_with_its_licence() -> None:
    """MIT asks for its notice in every copy; what really is in the files the build compares (build.mjs)."""
    lock = json.loads((ROOT / "extensions" / "widgets" / "package-lock.json").read_text())["packages"]
    held = {name: package for name, package in lock.items() if name and not package.get("dev")}
    packages = {name.rpartition("node_modules/")[2]: package for name, package in held.items()}
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = dict(re.findall(r"^  (\S+) +\(([^)]+)\) +Copyright .*\d{4}", notice, re.M))
    assert named.keys() == packages.keys() - UNUSED
    words = {"MIT": "MIT licence", "Apache-2.0": "Apache License 2.0"}
    assert named == {name: words[packages[name]["license"]] for name in named}
    assert "The above copyright notice and this permission notice shall be included" in notice
    assert "NOTICE names" in (ROOT / "extensions" / "widgets" / "build.mjs").read_text(encoding="utf-8")

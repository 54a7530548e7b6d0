"""A graph that is laid out, as data for a page: boxes, frames and edges in pixels, the origin above on the left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, Literal

from .schema import SCHEMA_VERSION, View

_INCH: Final = 72.0
"""Graphviz gives sizes in inches and places in points."""


@dataclass(frozen=True, slots=True)
class GraphBox(View):
    """A call, a group of calls that can be opened, or an input.  `x` and `y` are of its middle."""

    id: str
    """Of a call or group, its place among the boxes ("2.0"); of an input its number."""
    kind: Literal["call", "group", "input"]
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    classes: tuple[int, ...] = ()
    """Which parts of the model it holds (`driver.links`)."""
    changed: int = 0
    """How many of its calls the step made or altered, where the graph is that of a step."""


@dataclass(frozen=True, slots=True)
class GraphFrame(View):
    """An opened group, around what is in it.  `x` and `y` are of its upper left corner."""

    id: str
    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class GraphEdge(View):
    """What passes from one box to another, as a Bezier curve: a point, then three for each piece."""

    points: tuple[tuple[float, float], ...]
    label: str
    x: float
    y: float
    source: str = ""
    """The ids of the boxes at its ends."""
    target: str = ""


@dataclass(frozen=True, slots=True)
class GraphView(View):
    width: float
    height: float
    boxes: tuple[GraphBox, ...]
    frames: tuple[GraphFrame, ...]
    edges: tuple[GraphEdge, ...]
    linked: bool = True
    """Whether the boxes have their classes: not before the kernels are known."""
    version: int = SCHEMA_VERSION


def view_of(
    laid: Mapping[str, Any], classes: Mapping[str, Set[int]], groups: Collection[str], changed: Mapping[str, int]
) -> GraphView:
    """The graph that Graphviz laid out (`-Tjson0`); `classes`, `groups` and `changed` by the ids of boxes."""
    _, _, width, height = _numbers(laid["bb"])
    boxes: list[GraphBox] = []
    frames: list[GraphFrame] = []
    for item in laid.get("objects", ()):
        name = str(item["name"])
        if name.startswith("cluster_"):
            left, low, right, high = _numbers(item["bb"])
            title = str(item.get("label", ""))
            frames.append(GraphFrame(name[8:], title, left, height - high, right - left, high - low))
        elif "pos" in item:
            x, y = _numbers(item["pos"])
            own = _own(name)
            kind = "input" if name[0] in "pi" else "group" if own in groups else "call"
            size = float(item["width"]) * _INCH, float(item["height"]) * _INCH
            held = tuple(sorted(classes.get(own, ()))) if name[0] == "n" else ()
            lines = _lines(item.get("label", ""))
            boxes.append(GraphBox(own, kind, lines, x, round(height - y, 2), *size, held, changed.get(own, 0)))
    names = {item["_gvid"]: _own(str(item["name"])) for item in laid.get("objects", ())}
    edges = tuple(_edge(item, height, names) for item in laid.get("edges", ()))
    return GraphView(width, height, tuple(boxes), tuple(frames), edges)


def _own(name: str) -> str:
    """The id of a box by its name in DOT."""
    return name[1:] if name[0] == "n" else name


def _edge(item: Mapping[str, Any], height: float, names: Mapping[int, str]) -> GraphEdge:
    spots = str(item["pos"]).split(" ")
    ends = [_numbers(spot[2:]) for spot in spots if spot.startswith("e,")]
    points = [_numbers(spot) for spot in spots if not spot.startswith(("e,", "s,"))]
    if ends:  # the tip of the arrow, straight on
        points += [ends[0]] * 3
    x, y = _numbers(item["lp"]) if "lp" in item else (0.0, height)
    turned = tuple((spot[0], round(height - spot[1], 2)) for spot in points)
    ends_at = names.get(item.get("tail", -1), ""), names.get(item.get("head", -1), "")
    return GraphEdge(turned, str(item.get("label", "")).strip(), x, round(height - y, 2), *ends_at)


def _lines(label: Any) -> tuple[str, ...]:
    return tuple(str(label).replace("\\n", "\n").split("\n"))


def _numbers(text: Any) -> list[float]:
    return [float(part) for part in str(text).split(",")]

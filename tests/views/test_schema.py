"""Views are plain JSON with a stable shape, and the front end's types name the same fields."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from workbench.views import schema
from workbench.views.schema import Parameter, PrimitiveView, ScheduleView, TextView, TreeNode, View

TYPES = Path(__file__).parents[2] / "extensions" / "widgets" / "src" / "types.ts"


def test_text_view_counts_lines() -> None:
    assert TextView.of("").total == 0
    assert TextView.of("a\nb\n").to_json() == {"total": 2, "chunks": [{"start": 0, "lines": ["a", "b"]}]}
    assert TextView.of("a\n\n").total == 2


def test_nested_views_are_plain_json(golden) -> None:
    inner = TreeNode("b:C", "block", "C")
    tree = (TreeNode("l:k", "loop", "k", "256", "serial", reduction=True, children=(inner,)),)
    split = PrimitiveView(
        "split", "one loop becomes two", (Parameter("factors", "integers", default=[None, 8]),), {"l:k": None}
    )
    view = ScheduleView("s0", "matmul", tree, "sch = ...", TextView.of("for k:"), (split,))
    text = json.dumps(view.to_json(), indent=1)
    assert json.loads(text) == view.to_json()
    golden(text, suffix=".json")


@pytest.mark.parametrize(
    "name",
    [c.__name__ for c in vars(schema).values() if isinstance(c, type) and issubclass(c, View) and c is not View],
)
def test_the_front_end_knows_every_view(name: str) -> None:
    """types.ts declares an interface of the same name whose fields are all fields of the dataclass."""
    source = TYPES.read_text(encoding="utf-8")
    body = re.search(rf"interface {name} {{(.*?)\n?}}", source, re.S)
    assert body is not None, f"add {name} to types.ts"
    declared = set(re.findall(r"(\w+)\??:", body.group(1))) - {"step_", "rewrite_"}
    fields = {field.name for field in dataclasses.fields(getattr(schema, name))}
    page_only = {"selected", "step", "rewrite"} if name == "PipelineView" else set()
    assert declared - fields <= page_only, "the front end reads a field that the kernel does not send"

"""Boxes within boxes: every call in exactly one, no cycles between boxes, few on each level, what repeats found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_session
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay.ir import expr as r
from workbench.views.graph import dot_source, graph_svg, graph_view
from workbench.views.graph_groups import MOST, Box, boxes_of, drawn, operands


def function(body: Any, *inputs: Any) -> r.Function:
    return wb.IRModule.from_expr(relay.Function(list(inputs), body))["main"]


def leaves(boxes: Sequence[Box]) -> Iterator[Box]:
    for box in boxes:
        yield from leaves(box.children) if box.children else (box,)


def require_sound(main: r.Function) -> tuple[Box, ...]:
    """Every call is in one leaf, in order; at each level boxes only read from those before them."""
    top = boxes_of(main)
    calls = drawn(main.body)
    assert [box.nodes[0] for box in leaves(top)] == calls and all(len(box.nodes) == 1 for box in leaves(top))
    levels: list[tuple[Box, ...]] = [top]
    while levels:
        level = levels.pop()
        assert 0 < len(level) <= MOST
        place = {id(node): number for number, box in enumerate(level) for node in box.nodes}
        for number, box in enumerate(level):
            reads = [place[id(one)] for node in box.nodes for one in operands(node) if id(one) in place]
            assert all(source <= number for source in reads), box.title
            if box.children:
                assert box.nodes == tuple(node for child in box.children for node in child.nodes)
                assert box.times in (1, len(box.children))
                levels.append(box.children)
    return top


def residual(blocks: Sequence[int]) -> r.Function:
    """Stages of residual blocks, the first of each with an operator in its shortcut."""
    x = relay.var("x", shape=(1, 8))
    value = relay.nn.relu(x)
    for count in blocks:
        for number in range(count):
            left = relay.tanh(relay.exp(relay.sigmoid(value)))
            value = relay.nn.relu(relay.add(left, value if number else relay.sqrt(value)))
    return function(relay.nn.softmax(value), x)


def test_a_small_graph_stays_as_it_is() -> None:
    top = require_sound(residual([2, 2]))
    assert all(not box.children for box in top)


def test_blocks_of_a_residual_network_are_found() -> None:
    top = require_sound(residual([3, 4, 6, 3]))
    repeated = [box for box in top if box.times > 1]
    assert repeated and len(top) < 12, [box.title for box in top]
    assert {len(child.nodes) for box in repeated for child in box.children if not child.children} <= {5}


@pytest.mark.parametrize("layers", [12, 40])
def test_layers_that_all_read_one_mask_are_found(layers: int) -> None:
    x, mask = relay.var("x", shape=(4, 8)), relay.var("mask", shape=(4, 8))
    scaled = relay.multiply(mask, relay.const(np.float32(3.0)))
    value = relay.tanh(x)
    for _ in range(layers):
        attended = relay.nn.softmax(relay.add(relay.exp(value), scaled))
        value = relay.tanh(relay.add(attended, value))
    top = require_sound(function(value, x, mask))
    assert [box.times for box in top if box.times > 1] == [layers] or max(box.times for box in top) >= layers - 1


def test_a_graph_without_order_is_cut_into_sections() -> None:
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(4,))
    made: list[Any] = [relay.exp(x)]
    names = [relay.add, relay.multiply, relay.subtract, relay.maximum]
    for number in range(5_000):
        other = made[int(rng.integers(max(0, number - 30), number + 1))]
        made.append(names[int(rng.integers(4))](made[-1], other))
    top = require_sound(function(made[-1], x))
    assert len(list(leaves(top))) == 5_001


def test_tuples_are_looked_through() -> None:
    x = relay.var("x", shape=(4, 8))
    parts = relay.split(x, indices_or_sections=2, axis=1)
    joined = relay.concatenate(relay.Tuple([relay.exp(parts[0]), relay.tanh(parts[1])]), axis=1)
    main = function(joined, x)
    calls = drawn(main.body)
    assert [call.op.name for call in calls] == ["split", "exp", "tanh", "concatenate"]
    assert operands(calls[-1]) == calls[1:3] and operands(calls[1]) == [calls[0]]


def test_a_large_graph_is_drawn_and_opens() -> None:
    main = residual([3, 4, 6, 3])
    closed = graph_svg(main)
    assert closed is not None and closed.count('class="node"') < 15 and "×" in closed
    group = next(box for box in boxes_of(main) if box.times > 1)
    opened = graph_svg(main, opened=[group.id])
    assert opened is not None
    assert opened.count('class="node"') == closed.count('class="node"') - 1 + group.times
    assert opened.count('class="cluster"') == 1
    assert "currentColor" in opened and "#010203" not in opened


def test_a_network_with_its_weights_as_parameters_has_one_box_for_them() -> None:
    inputs = [relay.var(f"w{number}", shape=(4,)) for number in range(MOST + 1)]
    body = inputs[0]
    for one in inputs[1:]:
        body = relay.add(body, one)
    source = dot_source(function(body, *inputs))
    assert source.count("shape=ellipse") == 1 and f"{MOST + 1} parameters" in source


def test_what_several_tensors_pass_is_counted() -> None:
    x = relay.var("x", shape=(4, 8))
    parts = relay.split(x, indices_or_sections=2, axis=1)
    source = dot_source(function(relay.add(parts[0], parts[1]), x))
    assert source.count("->") == 2


@pytest.mark.parametrize("opened", [["77"], "5", [5], 5, ["0"]], ids=["no such id", "text", "number", "none", "a call"])
def test_what_is_no_group_is_refused(opened: Any) -> None:
    with pytest.raises(WorkbenchError) as caught:
        graph_svg(residual([3, 4, 6, 3]), opened=opened)
    assert caught.value.code == "E-VIEW-GROUP"


def test_a_page_gets_boxes_frames_and_edges_where_they_lie() -> None:
    main = residual([3, 4, 6, 3])
    group = next(box for box in boxes_of(main) if box.times > 1)
    closed, opened = graph_view(main), graph_view(main, [group.id])
    assert not closed.frames and [frame.id for frame in opened.frames] == [group.id]
    (frame,) = opened.frames
    inside = [box for box in opened.boxes if box.id.startswith(f"{group.id}.")]
    assert len(inside) == group.times == len(opened.boxes) - len(closed.boxes) + 1
    for box in inside:
        assert frame.x <= box.x - box.width / 2 and box.x + box.width / 2 <= frame.x + frame.width
        assert frame.y <= box.y - box.height / 2 and box.y + box.height / 2 <= frame.y + frame.height
    assert {box.kind for box in closed.boxes} == {"call", "group", "input"}
    for box in closed.boxes:
        assert 0 <= box.x - box.width / 2 + 0.1 and box.x + box.width / 2 <= closed.width + 0.1
    for edge in closed.edges:
        assert len(edge.points) % 3 == 1 and edge.points[0][1] < edge.points[-1][1], "data flow downwards"
    assert any("×" in line for box in closed.boxes for line in box.lines)


def test_boxes_hold_the_classes_of_their_calls() -> None:
    session = small_session()
    links = session.provenance.links
    last = [label for label, action in zip(session.labels, session.actions, strict=True) if action.level == "relay"][-1]
    view = graph_view(session.step(last).stage.module["main"], classes=links.of_graph(last))
    calls = [box for box in view.boxes if box.kind == "call"]
    assert {number for box in calls for number in box.classes} == set(links.graph(last).every)
    assert all(box.classes for box in calls)
    (conv,) = [box for box in calls if "nn.relu" in box.lines]
    assert [thing.op.name for thing in links.things(conv.classes)] == list(conv.lines)


def test_without_graphviz_the_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.views.graph._laid_out", lambda source, form: None)
    with pytest.raises(WorkbenchError) as caught:
        graph_view(residual([2]))
    assert caught.value.code == "E-VIEW-GRAPHVIZ"
    assert graph_svg(residual([2])) is None

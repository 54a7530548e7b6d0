"""Two edits of random graphs, merged: both are there, each where it was made, or the merge says that it is not.

The operators are so few that most stand beside others like them.  One edit changes an attribute; the other changes
one as well, or puts in an operator that nothing is like, so that what was edited can always be told.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from workbench import relay, transform
from workbench.core.equal import same
from workbench.driver.merge_graph import merge_graph

CASES = 200
KINDS = ("leaky", "leaky", "clip", "add", "subtract", "bias", "exp", "softmax", "softmax")
ATTRIBUTES = {"leaky": (0.125,), "clip": (6.0,), "bias": (0.0, 1.0, 2.0)}


class Made(NamedTuple):
    """One operator: what it reads are the numbers of earlier ones, after the two inputs."""

    kind: str
    reads: tuple[int, ...]
    attribute: float = 0.0


def drawn(rng: random.Random) -> list[Made]:
    found: list[Made] = []
    for _ in range(rng.randint(4, 14)):
        kind = rng.choice(KINDS)
        first, last = max(0, len(found) + 2 - rng.choice([1, 2, 4])), len(found) + 1
        reads = tuple(rng.randint(first, last) for _ in range(2 if kind in ("add", "subtract") else 1))
        found.append(Made(kind, reads, rng.choice(ATTRIBUTES.get(kind, (0.0,)))))
    return found


def applied(made: Made, operands: list[Any]) -> Any:
    match made.kind:
        case "leaky":
            return relay.nn.leaky_relu(*operands, made.attribute)
        case "clip":
            return relay.clip(*operands, 0.0, made.attribute)
        case "bias":
            return relay.add(*operands, relay.const(np.full(4, made.attribute, "float32")))
        case "softmax":
            return relay.nn.softmax(*operands)
        case kind:
            return getattr(relay, kind)(*operands)


def function(recipe: list[Made], behind: int | None, passes: tuple[str, ...]) -> Any:
    """The recipe's graph, a tanh behind one of its operators."""
    inputs = [relay.var("x", shape=(4,)), relay.var("y", shape=(4,))]
    values = list(inputs)
    for number, made in enumerate(recipe):
        value = applied(made, [values[at] for at in made.reads])
        values.append(relay.tanh(value) if number == behind else value)
    read = {at for made in recipe for at in made.reads}
    results = [value for at, value in enumerate(values) if at >= 2 and at not in read]
    module = wb.IRModule.from_expr(relay.Function(inputs, relay.Tuple(results)))
    return transform.Sequential([getattr(relay.transform, name)() for name in passes])(module)["main"]


def changed(recipe: list[Made], at: int, by: float) -> list[Made]:
    return [made._replace(attribute=made.attribute + by * (at == number)) for number, made in enumerate(recipe)]


def outcome(seed: int, passes: tuple[str, ...]) -> str:
    rng = random.Random(seed)
    recipe = drawn(rng)
    with_attribute = [number for number, made in enumerate(recipe) if made.kind in ATTRIBUTES]
    if len(with_attribute) < 2:
        return "nothing to change"
    one, other = rng.sample(with_attribute, 2)
    behind = rng.randrange(len(recipe)) if rng.random() < 0.5 else None
    mine = changed(recipe, one, 0.25)
    above = recipe if behind is not None else changed(recipe, other, 0.5)
    both = mine if behind is not None else changed(mine, other, 0.5)
    before, after = function(recipe, None, passes), function(mine, None, passes)
    merged = merge_graph(before, after, function(above, behind, passes))
    if merged.dropped:
        return "conflict"
    wanted = function(both, behind, passes)
    assert same(merged.result, wanted), f"seed {seed}:\n{recipe}\n{merged.result}\nis not\n{wanted}"
    return "merged"


@pytest.mark.parametrize("passes", [("InferType",), ("InferType", "FuseOps")], ids=["graph", "fused"])
def test_two_edits_of_a_random_graph_are_both_there(passes: tuple[str, ...]) -> None:
    found = Counter(outcome(seed, passes) for seed in range(CASES))
    assert found["merged"] > 4 * found["conflict"] > 0, found

"""Lesson 12, fusion and layout: how many kernels, how many bytes less, and a pass that clears the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import relay
from ...core.module import IRModule
from ...relay.interpret import interpret
from ...relay.ir.expr import Call
from ..checks import holds, value_is
from ..exercise import Exercise
from ..work import Work


def _conv(data: Any, weight: Any, size: int) -> Any:
    channels = int(weight.type_annotation.shape[0])
    around = (size // 2, size // 2)
    return relay.nn.conv2d(data, weight, padding=around, channels=channels, kernel_size=(size, size))


def gated_network(layers: int, channels: int) -> IRModule:
    """Convolutions with a bias and y sigmoid(y) each; before the last of these the input is added; then a mean."""
    x = relay.var("x", shape=(1, channels, 8, 8))
    y, given = x, [x]
    for layer in range(layers):
        weight = relay.var(f"w{layer}", shape=(channels, channels, 3, 3))
        bias = relay.var(f"b{layer}", shape=(channels,))
        given += [weight, bias]
        y = relay.nn.bias_add(_conv(y, weight, 3), bias)
        y = relay.add(y, x) if layer == layers - 1 else y
        y = relay.multiply(y, relay.sigmoid(y))
    return IRModule.from_expr(relay.Function(given, relay.nn.global_avg_pool2d(y)))


def one_layer(channels: int, height: int) -> IRModule:
    """A convolution of 1 x 1, a bias, and a clip."""
    x = relay.var("x", shape=(1, channels, height, height))
    weight = relay.var("w", shape=(channels, channels, 1, 1))
    bias = relay.var("b", shape=(channels,))
    body = relay.clip(relay.nn.bias_add(_conv(x, weight, 1), bias), 0.0, 6.0)
    return IRModule.from_expr(relay.Function([x, weight, bias], body))


def there_and_back(channels: int, height: int) -> IRModule:
    """Between two convolutions in NCHW a relu in NHWC, as an exporter leaves it."""
    x = relay.var("x", shape=(1, channels, height, height))
    first = relay.var("first", shape=(channels, channels, 3, 3))
    second = relay.var("second", shape=(channels, channels, 1, 1))
    moved = relay.layout_transform(_conv(x, first, 3), "NCHW", "NHWC")
    back = relay.layout_transform(relay.nn.relu(moved), "NHWC", "NCHW")
    body = relay.nn.relu(_conv(back, second, 1))
    return IRModule.from_expr(relay.Function([x, first, second], body))


def calls_of(module: IRModule) -> list[Call]:
    """The calls of a program's main function: kernels once it is fused, operators before."""
    found: dict[int, Call] = {}
    pending = [module["main"].body]
    while pending:
        expr = pending.pop()
        if isinstance(expr, Call) and id(expr) not in found:
            found[id(expr)] = expr
            pending += expr.args
    return list(found.values())


def fused(module: IRModule) -> IRModule:
    return relay.transform.FuseOps()(relay.transform.InferType()(module))


def bytes_moved(module: IRModule) -> int:
    """What all calls read and write, if each goes through memory."""
    return sum(_bytes(item.checked_type) for call in calls_of(module) for item in (call, *call.args))


def _bytes(given: Any) -> int:
    return int(np.prod([int(extent) for extent in given.shape])) * np.dtype(str(given.dtype)).itemsize


def kernels(start: Any, shapes: Any) -> int:
    """The calls of kernels in the fused program."""
    return len(calls_of(fused(start)))


def bytes_saved(start: Any, shapes: Any) -> int:
    """What fusion keeps out of memory."""
    typed = relay.transform.InferType()(start)
    return bytes_moved(typed) - bytes_moved(fused(start))


def _arrays(module: IRModule) -> Iterator[np.ndarray]:
    random = np.random.default_rng(12)
    for param in module["main"].params:
        shape = tuple(int(extent) for extent in param.type_annotation.shape)
        yield random.integers(-3, 4, shape).astype(np.float32)


def same_meaning(work: Work) -> Any:
    """The program after the pass computes what the one before did."""
    if work.module is None:
        return "there is no program yet"
    arrays = list(_arrays(work.start))
    wanted, found = (np.asarray(interpret(module, *arrays, float64=True)) for module in (work.start, work.module))
    if wanted.shape != found.shape:
        return f"the result has shape {found.shape}; it was {wanted.shape}"
    gap = float(np.abs(wanted - found).max())
    return True if gap < 1e-6 else f"the result differs by up to {gap:g}"


def _transforms(work: Work) -> Any:
    names = [getattr(call.op, "name", "") for call in calls_of(relay.transform.InferType()(work.module))]
    left = names.count("layout_transform")
    return f"{left} layout_transform are left" if left else True


def _two_kernels(work: Work) -> Any:
    count = len(calls_of(fused(work.module)))
    return f"{count} kernels; two would do" if count > 2 else True


EXERCISES = (
    Exercise(
        id="12_1",
        title="How many kernels?",
        goal="A network of `layers` convolutions, each with a bias and `y * sigmoid(y)`; before the last of these the "
        'input is added, and at the end stands a mean over the image (`teach.task("12_1").program` shows it). How '
        "many kernels does one run call after FuseOps?",
        start=gated_network,
        shapes={"layers": (3, 4, 5), "channels": (8, 16)},
        answer="value",
        checks=(value_is(kernels, "the number of kernels"),),
        hints={
            "the number of kernels": (
                "A convolution takes along what follows it element by element, also where a value is used twice and "
                "meets itself again; it never takes another convolution.",
                'print(teach.task("12_1").shapes)  # a group for each convolution; then what does the mean do?',
            )
        },
    ),
    Exercise(
        id="12_2",
        title="Bytes that stay at home",
        goal="A convolution of 1 x 1, its bias and a clip on an image of `channels` x `height` x `height` float32. "
        "How many bytes less go through memory in one run when the three are one kernel? (What is between two kernels "
        "is written once and read once.)",
        start=one_layer,
        shapes={"channels": (16, 32, 24), "height": (28, 14, 20)},
        answer="value",
        checks=(value_is(bytes_saved, "the bytes that are saved"),),
        hints={
            "the bytes that are saved": (
                "Three kernels have two tensors between them; one kernel has none.",
                'print(teach.task("12_2").shapes)  # tensors x (write + read) x elements x bytes of one',
            )
        },
    ),
    Exercise(
        id="12_3",
        title="Clear the way",
        goal="Between two convolutions stands a relu that an exporter has put into another layout: there, relu, and "
        "back. Write a pass after which no `layout_transform` is left and two kernels are enough. It must compute the "
        "same.",
        start=there_and_back,
        shapes={"channels": (8, 16), "height": (10, 6, 12)},
        answer="pass",
        checks=(
            holds("the same numbers", same_meaning, points=0),
            holds("no layout_transform is left", _transforms, points=2),
            holds("two kernels", _two_kernels, points=2),
        ),
        template="    return wb.relay.transform.InferType()  # not yet",
        hints={
            "no layout_transform is left": (
                "relu does not mind in which order its elements lie: to transform, apply it and transform back is to "
                "apply it.",
                'a RuleTable with one rule: op("layout_transform", op("nn.relu", op("layout_transform", any_("x")))) '
                'is relay.nn.relu(m["x"])',
            ),
            "two kernels": (
                "What follows a convolution element by element joins it; what moves elements does not.",
                'print(teach.task("12_3").start())  # which of its operators move elements?',
            ),
        },
    ),
)

"""Recurrent layers, unrolled over the (static) sequence: LSTM, GRU and RNN, forward, reverse and both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.tensor import Tensor
from ...relay.ir.expr import Constant, Expr
from .emit import call, constant, dtype_of, like, pack, rank_of, reshaped, shape_of, unpack
from .ops_activation import elu, hard_sigmoid, leaky_relu, softplus, softsign, thresholded_relu
from .site import Site
from .table import onnx_op

Activation = Callable[[Expr], Expr]
Parameters = Sequence[float] | None
"""activation_alpha or activation_beta, used up from the front."""


@dataclass(frozen=True)
class Layer:
    """One direction: weights as (gates * hidden, inputs), states as (batch, hidden)."""

    weights: Expr
    recurrent: Expr
    bias: Expr | None
    recurrent_bias: Expr | None
    peephole: tuple[Expr, ...]
    hidden: Expr
    cell: Expr | None
    activations: tuple[Activation, ...]
    clip: float


def _activations(node: Site, names: Sequence[str], alpha: Parameters, beta: Parameters) -> tuple[Activation, ...]:
    alphas, betas = list(alpha or ()), list(beta or ())

    def made(name: str) -> Activation:
        key = name.lower()
        if key in ("sigmoid", "tanh"):
            return lambda x: call(key, x)
        if key == "relu":
            return lambda x: call("nn.relu", x)
        if key == "softsign":
            return lambda x: softsign(node, x)
        if key == "softplus":
            return lambda x: softplus(node, x)
        if key == "hardsigmoid":
            a, b = alphas.pop(0) if alphas else 0.2, betas.pop(0) if betas else 0.5
            return lambda x: hard_sigmoid(node, x, alpha=a, beta=b)
        defaults = {"leakyrelu": (leaky_relu, 0.01), "elu": (elu, 1.0), "thresholdedrelu": (thresholded_relu, 1.0)}
        if key in defaults:
            function, default = defaults[key]
            a = alphas.pop(0) if alphas else default
            return lambda x: function(node, x, alpha=a)
        if key in ("affine", "scaledtanh"):
            a, b = alphas.pop(0) if alphas else 1.0, betas.pop(0) if betas else (0.0 if key == "affine" else 1.0)
            if key == "affine":
                return lambda x: call("add", call("multiply", x, like(a, x)), like(b, x))
            return lambda x: call("multiply", call("tanh", call("multiply", x, like(b, x))), like(a, x))
        raise node.refuse("unknown activation", name, "Sigmoid, Tanh, Relu, HardSigmoid, ...")

    return tuple(made(name) for name in names)


def _part(value: Expr, direction: int) -> Expr:
    """Entry `direction` along the first axis."""
    shape = shape_of(value)
    if shape[0] == 1:
        return reshaped(value, shape[1:])
    return call("take", value, constant(direction, "int64"), axis=0)


def _split(value: Expr, count: int, axis: int) -> tuple[Expr, ...]:
    return unpack(call("split", value, indices_or_sections=count, axis=axis)) if count > 1 else (value,)


def _clipped(x: Expr, limit: float) -> Expr:
    return call("clip", x, a_min=-limit, a_max=limit) if limit > 0 else x


def _add(a: Expr, b: Expr | None) -> Expr:
    return a if b is None else call("add", a, b)


def _dense(x: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    return _add(call("nn.dense", x, weight), bias)


Step = Callable[[Layer, Expr, Expr, Expr | None], tuple[Expr, Expr | None]]
"""(layer, input's product with the weights, hidden, cell) to the next (hidden, cell)."""


def _lstm_step(layer: Layer, given: Expr, hidden: Expr, cell: Expr | None) -> tuple[Expr, Expr | None]:
    """Gates in the order input, output, forget, cell."""
    assert cell is not None
    gates = _split(_add(given, _dense(hidden, layer.recurrent, layer.recurrent_bias)), 4, 1)
    first, second, third = layer.activations
    enter, leave, forget, fresh = gates
    if layer.peephole:
        enter = call("add", enter, call("multiply", cell, layer.peephole[0]))
        forget = call("add", forget, call("multiply", cell, layer.peephole[2]))
    enter, forget, fresh = (_clipped(gate, layer.clip) for gate in (enter, forget, fresh))
    kept = call("multiply", first(forget), cell)
    cell = call("add", kept, call("multiply", first(enter), second(fresh)))
    if layer.peephole:
        leave = call("add", leave, call("multiply", cell, layer.peephole[1]))
    return call("multiply", first(_clipped(leave, layer.clip)), third(cell)), cell


def _rnn_step(layer: Layer, given: Expr, hidden: Expr, cell: Expr | None) -> tuple[Expr, Expr | None]:
    total = _add(given, _dense(hidden, layer.recurrent, layer.recurrent_bias))
    return layer.activations[0](_clipped(total, layer.clip)), None


def _gru_step(linear_before_reset: int) -> Step:
    """Gates in the order update, reset, hidden."""

    def step(layer: Layer, given: Expr, hidden: Expr, cell: Expr | None) -> tuple[Expr, Expr | None]:
        update_in, reset_in, fresh_in = _split(given, 3, 1)
        update_w, reset_w, fresh_w = _split(layer.recurrent, 3, 0)
        biases = _split(layer.recurrent_bias, 3, 0) if layer.recurrent_bias is not None else (None,) * 3
        first, second = layer.activations
        update = first(_clipped(call("add", update_in, _dense(hidden, update_w, biases[0])), layer.clip))
        reset = first(_clipped(call("add", reset_in, _dense(hidden, reset_w, biases[1])), layer.clip))
        if linear_before_reset:
            past = call("multiply", reset, _dense(hidden, fresh_w, biases[2]))
        else:
            past = _dense(call("multiply", reset, hidden), fresh_w, biases[2])
        fresh = second(_clipped(call("add", fresh_in, past), layer.clip))
        share = call("multiply", call("subtract", like(1, update), update), fresh)
        return call("add", share, call("multiply", update, hidden)), None

    return step


def _run(layer: Layer, step: Step, rows: Expr, count: int, lengths: Expr | None, backward: bool):  # type: ignore[no-untyped-def]
    """All hidden states in input order, and the last hidden and cell state.

    `rows` is (steps * batch, inputs): what does not depend on the state is one product for all steps.
    """
    steps = _split(_dense(rows, layer.weights, layer.bias), count, 0)
    order = range(count - 1, -1, -1) if backward else range(count)
    hidden, cell = layer.hidden, layer.cell
    found: dict[int, Expr] = {}
    for index in order:
        next_hidden, next_cell = step(layer, steps[index], hidden, cell)
        if lengths is not None:
            alive = call("greater", lengths, like(index, lengths))
            found[index] = call("where", alive, next_hidden, like(0, next_hidden))
            next_hidden = call("where", alive, next_hidden, hidden)
            next_cell = call("where", alive, next_cell, cell) if next_cell is not None and cell is not None else None
        else:
            found[index] = next_hidden
        hidden, cell = next_hidden, next_cell
    return [found[index] for index in range(count)], hidden, cell


def _stack(parts: Sequence[Expr], axis: int) -> Expr:
    shape = list(shape_of(parts[0]))
    shape.insert(axis, 1)
    wide = [reshaped(part, tuple(shape)) for part in parts]
    return wide[0] if len(wide) == 1 else call("concatenate", pack(wide), axis=axis)


@dataclass(frozen=True)
class Operands:
    x: Expr
    weights: Expr
    recurrent: Expr
    bias: Expr | None
    lengths: Expr | None
    hidden: Expr | None
    cell: Expr | None = None
    peephole: Expr | None = None


def _recurrent(
    node: Site,
    given: Operands,
    gates: int,
    step: Step,
    names: Sequence[str],
    alpha: Parameters,
    beta: Parameters,
    clip: float,
    direction: str,
    layout: int,
    with_cell: bool,
    stated_size: int | None,
) -> tuple[Expr, ...]:
    if direction not in ("forward", "reverse", "bidirectional"):
        raise node.refuse("unknown direction", direction, "forward, reverse or bidirectional")
    directions = 2 if direction == "bidirectional" else 1
    _require_fitting(node, given, gates, directions, layout, stated_size)
    x = call("transpose", given.x, axes=(1, 0, 2)) if layout else given.x
    count, batch, width = shape_of(x)
    if count < 1:
        raise node.refuse("an empty sequence", f"shape {shape_of(x)}", "at least one step")
    node.require_unrollable(count * directions, 6 * gates)
    node.importer.nodes_done += count * directions * 6 * gates - 1  # for the loops around it
    hidden_size = shape_of(given.recurrent)[-1]
    if len(names) != directions * _ACTIVATIONS[gates]:
        raise node.refuse("the wrong number of activations", ", ".join(names), str(directions * _ACTIVATIONS[gates]))
    rows = reshaped(x, (count * batch, width))
    per_direction = len(names) // directions
    functions = _activations(node, names, alpha, beta)
    lengths = reshaped(given.lengths, (batch, 1)) if given.lengths is not None else None
    zero = Constant(Tensor.full((batch, hidden_size), 0, dtype_of(x)))
    results = []
    for index in range(directions):
        layer = _layer(
            given, index, gates, zero, layout, functions[per_direction * index :][:per_direction], clip, with_cell
        )
        results.append(_run(layer, step, rows, count, lengths, direction == "reverse" or index == 1))
    return _outputs(results, count, layout)


_ACTIVATIONS = {4: 3, 3: 2, 1: 1}
"""Activations of one direction, by the number of gates."""


def _require_fitting(node: Site, given: Operands, gates: int, directions: int, layout: int, stated: int | None) -> None:
    """Refuse operands whose shapes are not those that the directions, gates and the hidden size ask for."""
    for value, rank, what in ((given.x, 3, "the sequence"), (given.recurrent, 3, "the recurrence weights")):
        if rank_of(value) != rank:
            raise node.refuse(f"{what} has another rank", str(shape_of(value)), f"{rank} axes")
    if layout not in (0, 1):
        raise node.refuse("unknown layout", str(layout), "0 (steps first) or 1 (batch first)")
    hidden = shape_of(given.recurrent)[-1]
    if stated is not None and stated != hidden:
        raise node.refuse(
            "hidden_size is not that of the weights", str(stated), f"{hidden} (weights {shape_of(given.recurrent)})"
        )
    batch, width = shape_of(given.x)[0 if layout else 1], shape_of(given.x)[2]
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    for value, wanted, what in (
        (given.weights, (directions, gates * hidden, width), "the weights have"),
        (given.recurrent, (directions, gates * hidden, hidden), "the recurrence weights have"),
        (given.bias, (directions, 2 * gates * hidden), "the bias has"),
        (given.lengths, (batch,), "sequence_lens has"),
        (given.hidden, state, "initial_h has"),
        (given.cell, state, "initial_c has"),
        (given.peephole, (directions, 3 * hidden), "the peepholes have"),
    ):
        if value is not None and shape_of(value) != wanted:
            raise node.refuse(f"{what} another shape", str(shape_of(value)), str(wanted))


def _layer(
    given: Operands,
    index: int,
    gates: int,
    zero: Expr,
    layout: int,
    functions: tuple[Activation, ...],
    clip: float,
    with_cell: bool,
) -> Layer:
    def state(value: Expr | None) -> Expr:
        if value is None:
            return zero
        return _part(call("transpose", value, axes=(1, 0, 2)) if layout else value, index)

    bias: tuple[Expr | None, ...] = (None, None)
    if given.bias is not None:
        bias = _split(_part(given.bias, index), 2, 0)
    peephole = _split(_part(given.peephole, index), 3, 0) if given.peephole is not None else ()
    return Layer(
        _part(given.weights, index),
        _part(given.recurrent, index),
        bias[0],
        bias[1],
        peephole,
        state(given.hidden),
        state(given.cell) if with_cell else None,
        functions,
        clip,
    )


def _outputs(results: list, count: int, layout: int) -> tuple[Expr, ...]:  # type: ignore[type-arg]
    """Y (steps, directions, batch, hidden), Y_h and Y_c (directions, batch, hidden); batch first if `layout`."""
    batch, size = shape_of(results[0][1])
    joined = [hidden[0] if count == 1 else call("concatenate", pack(hidden), axis=0) for hidden, _, _ in results]
    wide = [reshaped(rows, (count, 1, batch, size)) for rows in joined]
    everything = wide[0] if len(wide) == 1 else call("concatenate", pack(wide), axis=1)
    states = [_stack([hidden for _, hidden, _ in results], 0)]
    if results[0][2] is not None:
        states.append(_stack([cell for _, _, cell in results], 0))
    if layout:
        everything = call("transpose", everything, axes=(2, 0, 1, 3))
        states = [call("transpose", state, axes=(1, 0, 2)) for state in states]
    return (everything, *states)


@onnx_op("LSTM", since=7)
def lstm(
    node: Site,
    x: Expr,
    w: Expr,
    r: Expr,
    b: Expr | None = None,
    lengths: Expr | None = None,
    hidden: Expr | None = None,
    cell: Expr | None = None,
    peephole: Expr | None = None,
    *,
    activation_alpha: tuple[float, ...] | None = None,
    activation_beta: tuple[float, ...] | None = None,
    activations: tuple[str, ...] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
) -> tuple[Expr, ...]:
    if input_forget:
        raise node.refuse("coupled input and forget gates are not supported", "input_forget=1", "input_forget=0")
    names = activations or _defaults(("Sigmoid", "Tanh", "Tanh"), direction)
    given = Operands(x, w, r, b, lengths, hidden, cell, peephole)
    return _recurrent(
        node, given, 4, _lstm_step, names, activation_alpha, activation_beta, clip,
        direction, layout, True, hidden_size,
    )  # fmt: skip


@onnx_op("GRU", since=7)
def gru(
    node: Site,
    x: Expr,
    w: Expr,
    r: Expr,
    b: Expr | None = None,
    lengths: Expr | None = None,
    hidden: Expr | None = None,
    *,
    activation_alpha: tuple[float, ...] | None = None,
    activation_beta: tuple[float, ...] | None = None,
    activations: tuple[str, ...] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Expr, ...]:
    names = activations or _defaults(("Sigmoid", "Tanh"), direction)
    return _recurrent(
        node, Operands(x, w, r, b, lengths, hidden), 3, _gru_step(linear_before_reset),
        names, activation_alpha, activation_beta, clip, direction, layout, False,
        hidden_size,
    )  # fmt: skip


@onnx_op("RNN", since=7)
def rnn(
    node: Site,
    x: Expr,
    w: Expr,
    r: Expr,
    b: Expr | None = None,
    lengths: Expr | None = None,
    hidden: Expr | None = None,
    *,
    activation_alpha: tuple[float, ...] | None = None,
    activation_beta: tuple[float, ...] | None = None,
    activations: tuple[str, ...] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> tuple[Expr, ...]:
    names = activations or _defaults(("Tanh",), direction)
    return _recurrent(
        node, Operands(x, w, r, b, lengths, hidden), 1, _rnn_step, names,
        activation_alpha, activation_beta, clip, direction, layout, False,
        hidden_size,
    )  # fmt: skip


def _defaults(names: tuple[str, ...], direction: str) -> tuple[str, ...]:
    return names * (2 if direction == "bidirectional" else 1)

"""Runs block-form functions for tests: translated to Python over NumPy arrays, adversarial where the IR leaves freedom.

Iterations of parallel and vectorized loops run backwards, and buffers used only inside an outermost parallel loop are
filled with NaN before each of its iterations, so that a wrong claim of independence shows as a wrong result.  Every
access is checked against its buffer's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.analysis.tree import Tree
from workbench.arith import nodes as a
from workbench.tir import nodes as t

_BINARY = {
    a.Add: "({} + {})", a.Sub: "({} - {})", a.Mul: "({} * {})", a.Div: "({} / {})", a.FloorDiv: "({} // {})",
    a.FloorMod: "({} % {})", a.Min: "min({}, {})", a.Max: "max({}, {})", a.EQ: "({} == {})", a.NE: "({} != {})",
    a.LT: "({} < {})", a.LE: "({} <= {})", a.GT: "({} > {})", a.GE: "({} >= {})", a.And: "({} and {})",
    a.Or: "({} or {})",
}  # fmt: skip


class _Translator:
    def __init__(self, func: t.PrimFunc) -> None:
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.buffers: dict[str, t.Buffer] = {}
        self.func = func
        self.tree = Tree.of(func)

    def name(self, node: Any) -> str:
        if id(node) not in self.names:
            self.names[id(node)] = f"n{len(self.names)}"
            if isinstance(node, t.Buffer):
                self.buffers[self.names[id(node)]] = node
        return self.names[id(node)]

    def expr(self, node: Any) -> str:
        if isinstance(node, a.Var):
            return self.name(node)
        if isinstance(node, (a.IntImm, a.FloatImm)):
            return f"float({str(node.value)!r})" if node.dtype.is_float else repr(node.value)
        if isinstance(node, a.BinaryExpr):
            return _BINARY[type(node)].format(self.expr(node.a), self.expr(node.b))
        if isinstance(node, a.Not):
            return f"(not {self.expr(node.a)})"
        if isinstance(node, t.BufferLoad):
            element = f"{self.name(node.buffer)}[{self.index(node)}]"
            return f"int({element})" if node.dtype.is_integer else element
        if isinstance(node, a.Select):
            parts = (node.true_value, node.condition, node.false_value)
            return "({} if {} else {})".format(*map(self.expr, parts))
        if isinstance(node, a.Cast):
            return f"{'float' if node.dtype.is_float else 'int'}({self.expr(node.value)})"
        assert isinstance(node, a.Call), type(node)
        arguments = [self.expr(item) for item in node.args]
        if node.op == "if_then_else":
            return f"({arguments[1]} if {arguments[0]} else {arguments[2]})"
        return f"np.{node.op}({', '.join(arguments)})"

    def index(self, access: Any) -> str:
        parts = [
            f"at({self.expr(index)}, {self.expr(extent)})"
            for index, extent in zip(access.indices, access.buffer.shape, strict=True)
        ]
        return ", ".join(parts) or "()"

    def stmt(self, node: Any, depth: int) -> None:
        pad = "    " * depth
        if isinstance(node, t.SeqStmt):
            for item in node.stmts:
                self.stmt(item, depth)
        elif isinstance(node, t.For):
            self.loop(node, depth)
        elif isinstance(node, t.BlockRealize):
            self.block(node, depth)
        elif isinstance(node, t.BufferStore):
            self.lines.append(f"{pad}{self.name(node.buffer)}[{self.index(node)}] = {self.expr(node.value)}")
        elif isinstance(node, t.IfThenElse):
            self.lines.append(f"{pad}if {self.expr(node.condition)}:")
            self.stmt(node.then_case, depth + 1)
            assert node.else_case is None
        else:
            assert isinstance(node, t.LetStmt), type(node)
            self.lines.append(f"{pad}{self.name(node.var)} = {self.expr(node.value)}")
            self.stmt(node.body, depth)

    def loop(self, node: t.For, depth: int) -> None:
        pad = "    " * depth
        low, extent = self.expr(node.min), self.expr(node.extent)
        order = f"range({low}, {low} + {extent})"
        combined = bool(node.annotations.get("cross_thread"))  # threads that reduce together: in order
        if node.kind in (t.ForKind.PARALLEL, t.ForKind.VECTORIZED, t.ForKind.THREAD_BINDING) and not combined:
            order = f"reversed({order})"
        self.lines.append(f"{pad}for {self.name(node.var)} in {order}:")
        outermost = not any(isinstance(part, t.For) for part in self.tree.loops[id(node.var)].path)
        if node.kind is t.ForKind.PARALLEL and outermost:
            for buffer in self.private(node):
                self.lines.append(f"{pad}    {self.name(buffer)}.fill(np.nan)")
        self.stmt(node.body, depth + 1)

    def block(self, node: t.BlockRealize, depth: int) -> None:
        pad = "    " * depth
        self.lines.append(f"{pad}if {self.expr(node.predicate)}:")
        for item, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            low, extent = self.expr(item.dom.min), self.expr(item.dom.extent)
            self.lines.append(f"{pad}    {self.name(item.var)} = within({self.expr(value)}, {low}, {extent})")
        if node.block.init is not None:
            firsts = [
                f"{self.name(item.var)} == {self.expr(item.dom.min)}"
                for item in node.block.iter_vars
                if item.kind is t.IterKind.REDUCE
            ]
            self.lines.append(f"{pad}    if {' and '.join(firsts) or 'True'}:")
            self.stmt(node.block.init, depth + 2)
        self.stmt(node.block.body, depth + 1)

    def private(self, loop: t.For) -> list[t.Buffer]:
        inside = {site.name for site in self.tree.under(loop)}
        return [
            buffer
            for buffer in self.tree.root.alloc_buffers
            if buffer.dtype.is_float
            and (sites := self.tree.accessing(buffer))
            and all(site.name in inside for site in sites)
        ]


def _at(index: int, extent: int) -> int:
    assert 0 <= index < extent, f"index {index} outside 0 ... {extent - 1}"
    return index


def _within(value: int, low: int, extent: int) -> int:
    assert low <= value < low + extent, f"iterator value {value} outside its domain of {extent} from {low}"
    return value


def compiled(func: t.PrimFunc) -> Any:
    """A Python function of the buffer parameters (arrays, outputs changed in place)."""
    made = _Translator(func)
    names = [made.name(parameter) for parameter in func.params]
    made.stmt(func.body, 1)
    own = [
        f"    {made.name(buffer)} = empty({', '.join(made.expr(extent) for extent in buffer.shape)})"
        for buffer in made.tree.root.alloc_buffers
    ]
    source = "\n".join([f"def run({', '.join(names)}):", *own, *made.lines])
    scope: dict[str, Any] = {
        "np": np,
        "at": _at,
        "within": _within,
        "empty": lambda *shape: np.full(shape, np.nan),
    }
    exec(compile(source, "<translated>", "exec"), scope)
    return scope["run"]


def inputs(func: t.PrimFunc, seed: int = 0, dtype: str = "float32") -> list[np.ndarray]:
    """Small integers for every parameter, floats as `dtype`; what the function writes begins as -7."""
    random = np.random.default_rng(seed)
    written = {id(region.buffer) for site in Tree.of(func).leaves for region in site.block.writes}
    arrays: list[np.ndarray] = []
    for buffer in func.params:
        shape = tuple(extent.value for extent in buffer.shape)
        kind = np.dtype(dtype) if buffer.dtype.is_float else buffer.dtype.to_numpy()
        values = random.integers(-4, 5, shape).astype(kind)
        arrays.append(np.full(shape, -7, dtype).astype(kind) if id(buffer) in written else values)
    return arrays


def run(func: t.PrimFunc, seed: int = 0) -> list[np.ndarray]:
    """All parameters after a run."""
    arrays = inputs(func, seed, "float64")
    compiled(func)(*arrays)
    return arrays

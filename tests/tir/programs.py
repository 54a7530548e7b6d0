"""Random loop programs for round-trip tests: well-formed in scope and dtype, otherwise anything goes."""

from __future__ import annotations

import random
from typing import Any

from workbench.arith import nodes as n
from workbench.arith.nodes import Var
from workbench.core.dtype import DataType
from workbench.core.node import FrozenMap
from workbench.tir import nodes as t

INT = DataType("int64")
DTYPES = [
    DataType(name) for name in ("int64", "int32", "uint8", "int8", "float32", "float64", "float16", "bfloat16", "bool")
]
NAMES = ["i", "j", "i", "A", "x", "T", "for", "a.b", "v1", "1st", "é", "i_1", "i_2", "", "conv2d 3", "e0"]
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan"), 1 / 3, 1e300, -2.5]
TEXTS = ["", "plain", 'with "quotes"', "it's", "new\nline", "\u2028", "tab\t", "é", "\\", "\x00", "{}", "\U0001f600"]


class Programs:
    """Draws one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.scalars: list[Var] = []
        self.buffers: list[t.Buffer] = []
        self.loops: list[t.For] = []

    def pick(self, items: Any) -> Any:
        return self.chance.choice(items)

    def name(self) -> str:
        return self.pick(NAMES) if self.chance.random() < 0.6 else f"n{self.chance.randint(0, 30)}"

    # --- expressions ---

    def constant(self, dtype: DataType) -> n.PrimExpr:
        scalar = dtype.element_of
        if dtype.is_vector:
            return n.Broadcast(self.constant(scalar), dtype.lanes)
        if scalar.is_float:
            from workbench.arith.build import const

            return const(self.pick(FLOATS), scalar)
        low, high = scalar.limits()
        value = self.pick([0, 1, 3, low, high, self.chance.randint(0, 100)])
        return n.IntImm(min(max(value, low), high), scalar)

    def expr(self, dtype: DataType = INT, depth: int = 3) -> n.PrimExpr:
        choices = [v for v in self.scalars if v.dtype == dtype]
        if depth <= 0 or self.chance.random() < 0.15:
            return self.pick(choices) if choices and self.chance.random() < 0.7 else self.constant(dtype)
        makers = [self._binary, self._binary, self._select, self._cast, self._call, self._let]
        if dtype.is_bool:
            makers += [self._compare, self._logic]
        if any(buffer.dtype == dtype for buffer in self.buffers):
            makers += [self._load, self._load]
        if dtype.is_vector:
            makers = [self._binary, self._ramp, self._broadcast, self._select]
        return self.pick(makers)(dtype, depth - 1)

    def _binary(self, dtype: DataType, depth: int) -> n.PrimExpr:
        cls = self.pick([n.Add, n.Sub, n.Mul, n.Div, n.Mod, n.FloorDiv, n.FloorMod, n.Min, n.Max])
        return cls(self.expr(dtype, depth), self.expr(dtype, depth))

    def _compare(self, dtype: DataType, depth: int) -> n.PrimExpr:
        operand = self.pick(DTYPES)
        cls = self.pick([n.EQ, n.NE, n.LT, n.LE, n.GT, n.GE])
        return cls(self.expr(operand, depth), self.expr(operand, depth))

    def _logic(self, dtype: DataType, depth: int) -> n.PrimExpr:
        if self.chance.random() < 0.3:
            return n.Not(self.expr(dtype, depth))
        return self.pick([n.And, n.Or])(self.expr(dtype, depth), self.expr(dtype, depth))

    def _select(self, dtype: DataType, depth: int) -> n.PrimExpr:
        return n.Select(self.expr(DataType("bool"), depth), self.expr(dtype, depth), self.expr(dtype, depth))

    def _cast(self, dtype: DataType, depth: int) -> n.PrimExpr:
        return n.Cast(dtype, self.expr(self.pick(DTYPES), depth))

    def _ramp(self, dtype: DataType, depth: int) -> n.PrimExpr:
        return n.Ramp(self.expr(dtype.element_of, depth), self.expr(dtype.element_of, depth), dtype.lanes)

    def _broadcast(self, dtype: DataType, depth: int) -> n.PrimExpr:
        return n.Broadcast(self.expr(dtype.element_of, depth), dtype.lanes)

    def _call(self, dtype: DataType, depth: int) -> n.PrimExpr:
        def make(kind: Any) -> n.PrimExpr:
            return self.expr(kind, depth)

        options = [
            lambda: n.Call(dtype, "if_then_else", (make(DataType("bool")), make(dtype), make(dtype))),
            lambda: n.Call(dtype, "call_extern", (n.StringImm(self.pick(TEXTS)), make(INT), make(dtype))),
            lambda: n.Call(dtype, "reinterpret", (make(INT),)),
            lambda: n.Call(dtype, "odd.name", (make(INT),)),
            lambda: n.Call(dtype, "exp", (make(self.pick(DTYPES)),)),
            lambda: n.Call(dtype, "bitwise_and", (make(dtype), make(self.pick(DTYPES)))),
            lambda: n.Call(dtype, "abs", (make(dtype),)),
            lambda: n.Call(dtype, "min", (make(dtype),)),
            lambda: n.Call(dtype, "exp", ()),
        ]
        return self.pick(options)()

    def _let(self, dtype: DataType, depth: int) -> n.PrimExpr:
        kind = self.pick(DTYPES)
        value = self.expr(kind, depth)
        variable = Var(self.name(), kind)
        self.scalars.append(variable)
        body = self.expr(dtype, depth)
        self.scalars.pop()
        return n.Let(variable, value, body)

    def _load(self, dtype: DataType, depth: int) -> n.PrimExpr:
        buffer = self.pick([buffer for buffer in self.buffers if buffer.dtype == dtype])
        return t.BufferLoad(buffer, tuple(self.expr(INT, depth - 1) for _ in buffer.shape))

    # --- statements ---

    def buffer(self) -> t.Buffer:
        rank = self.chance.randint(0, 3)
        shape = tuple(self.expr(INT, self.pick([0, 0, 2])) for _ in range(rank))
        strides = tuple(self.expr(INT, 0) for _ in range(rank)) if self.chance.random() < 0.2 else ()
        offset = self.expr(INT, 1) if self.chance.random() < 0.1 else None
        return t.Buffer(
            self.name(), shape, self.pick(DTYPES), self.pick(["global", "local", "shared.dyn", 'o"dd']), strides, offset
        )

    def data(self, depth: int = 2) -> Any:
        options = [
            lambda: self.pick([1, -3, True, None, 0.5, -0.0, float("inf"), "text"]),
            lambda: self.expr(INT, 2),
            lambda: self.pick(TEXTS),
            lambda: DataType("float32x4"),
        ]
        if self.buffers:
            options.append(lambda: self.pick(self.buffers))
        if depth:
            options += [
                lambda: self.annotations(depth - 1),
                lambda: tuple(self.data(depth - 1) for _ in range(self.chance.randint(0, 3))),
            ]
        return self.pick(options)()

    def annotations(self, depth: int = 2) -> FrozenMap:
        return FrozenMap(
            {self.pick(["a", "b c", "pragma", *TEXTS]): self.data(depth) for _ in range(self.chance.randint(0, 2))}
        )

    def stmt(self, depth: int = 4) -> t.Stmt:
        if depth <= 0:
            return self._leaf()
        makers = [
            self._leaf,
            self._for,
            self._for,
            self._seq,
            self._if,
            self._while,
            self._let_stmt,
            self._alloc,
            self._realize,
            self._realize,
            self._bare,
        ]
        return self.pick(makers)(depth - 1)

    def _leaf(self, depth: int = 0) -> t.Stmt:
        if self.buffers and self.chance.random() < 0.6:
            buffer = self.pick(self.buffers)
            vector = bool(buffer.shape) and buffer.dtype != "bool" and self.chance.random() < 0.2
            indices = [self.expr(INT, 1) for _ in buffer.shape]
            if vector:
                indices[-1] = n.Ramp(indices[-1], self.expr(INT, 1), 4)
            value = self.expr(
                self.pick(DTYPES) if self.chance.random() < 0.1 else buffer.dtype.with_lanes(4 if vector else 1), 3
            )
            return t.BufferStore(buffer, value, tuple(indices))
        if self.chance.random() < 0.2:
            return t.AssertStmt(self.expr(DataType("bool"), 2), self.pick(TEXTS))
        return t.Evaluate(self.expr(self.pick(DTYPES), 3))

    def _seq(self, depth: int) -> t.Stmt:
        return t.SeqStmt(tuple(self.stmt(depth) for _ in range(self.pick([0, 1, 2, 2, 3]))))

    def _for(self, depth: int) -> t.Stmt:
        dtype = self.pick([INT, INT, INT, DataType("int32")])
        other = dtype if self.chance.random() < 0.9 else INT
        start = n.IntImm(0, dtype) if self.chance.random() < 0.7 else self.expr(dtype, 1)
        extent = self.expr(other, self.pick([0, 0, 2]))
        variable = Var(self.name(), dtype)
        kind = self.pick([t.ForKind.SERIAL, t.ForKind.SERIAL, *t.ForKind])
        thread = "threadIdx.x" if kind is t.ForKind.THREAD_BINDING or self.chance.random() < 0.05 else ""
        notes = self.annotations() if self.chance.random() < 0.2 else FrozenMap()
        self.scalars.append(variable)
        made = t.For(variable, start, extent, kind, t.Evaluate(n.IntImm(0)), thread, notes)
        self.loops.append(made)
        body = self.stmt(depth)
        self.loops.pop()
        self.scalars.pop()
        return t.For(variable, start, extent, kind, body, thread, notes)

    def _if(self, depth: int) -> t.Stmt:
        other = self.stmt(depth) if self.chance.random() < 0.5 else None
        return t.IfThenElse(self.expr(DataType("bool"), 2), self.stmt(depth), other)

    def _while(self, depth: int) -> t.Stmt:
        return t.While(self.expr(DataType("bool"), 2), self.stmt(depth))

    def _let_stmt(self, depth: int) -> t.Stmt:
        value = self.expr(self.pick(DTYPES), 2)
        variable = Var(self.name(), value.dtype)
        self.scalars.append(variable)
        body = self.stmt(depth)
        self.scalars.pop()
        return t.LetStmt(variable, value, body)

    def _alloc(self, depth: int) -> t.Stmt:
        buffer = self.buffer()
        self.buffers.append(buffer)
        body = self.stmt(depth)
        self.buffers.pop()
        return t.AllocBuffer(buffer, body, self.annotations() if self.chance.random() < 0.2 else FrozenMap())

    def _realize(self, depth: int) -> t.Stmt:
        block, values = self._block(depth)
        predicate = n.IntImm(1, DataType("bool")) if self.chance.random() < 0.6 else self.expr(DataType("bool"), 2)
        return t.BlockRealize(values, predicate, block)

    def _bare(self, depth: int) -> t.Stmt:
        return self._block(depth)[0]

    def _block(self, depth: int) -> tuple[t.Block, tuple[n.PrimExpr, ...]]:
        values: list[n.PrimExpr] = []
        iterators: list[t.IterVar] = []
        for _ in range(self.chance.randint(0, 3)):
            dtype = self.pick([INT, INT, DataType("int32")])
            if self.loops and self.chance.random() < 0.6:
                loop = self.pick(self.loops)
                values.append(loop.var)
                domain = t.Range(loop.min, loop.extent)
                dtype = loop.var.dtype
            else:
                values.append(self.expr(dtype, 2))
                domain = t.Range(n.IntImm(0) if self.chance.random() < 0.6 else self.expr(INT, 1), self.expr(INT, 1))
            iterators.append(t.IterVar(Var(self.name(), dtype), domain, self.pick(list(t.IterKind))))
        count = len(iterators)
        self.scalars += [iterator.var for iterator in iterators]
        reads, writes = self._regions(), self._regions()
        notes = self.annotations() if self.chance.random() < 0.3 else FrozenMap()
        allocated = tuple(self.buffer() for _ in range(self.pick([0, 0, 1, 2])))
        self.buffers += allocated
        init = self.stmt(depth - 1) if self.chance.random() < 0.3 else None
        body = self.stmt(depth)
        del self.scalars[len(self.scalars) - count :]
        del self.buffers[len(self.buffers) - len(allocated) :]
        name = self.pick(["root", "C", "root", "pad temp", 'q"'])
        return t.Block(name, tuple(iterators), reads, writes, allocated, init, body, notes), tuple(values)

    def _regions(self) -> tuple[t.BufferRegion, ...]:
        found = []
        for _ in range(self.chance.randint(0, 2) if self.buffers else 0):
            buffer = self.pick(self.buffers)
            found.append(t.BufferRegion(buffer, tuple(self._range() for _ in buffer.shape)))
        return tuple(found)

    def _range(self) -> t.Range:
        start = self.pick([n.IntImm(0), n.IntImm(3), self.expr(INT, 2), self.expr(DataType("int32"), 1)])
        extent = self.pick([n.IntImm(1), n.IntImm(4), self.expr(INT, 2)])
        return t.Range(start, extent)

    def function(self) -> t.PrimFunc:
        params: list[Any] = []
        if self.chance.random() < 0.7:
            self.scalars.append(Var(self.name()))  # a shape variable that is no parameter
        for _ in range(self.chance.randint(0, 4)):
            if self.chance.random() < 0.4:
                params.append(Var(self.name(), self.pick([*DTYPES, DataType("handle")])))
                self.scalars.append(params[-1])
            else:
                params.append(self.buffer())
                self.buffers.append(params[-1])
        if self.chance.random() < 0.1:
            self.buffers.append(self.buffer())  # a free buffer
        attrs = FrozenMap({"global_symbol": self.name()}) if self.chance.random() < 0.7 else FrozenMap()
        if self.chance.random() < 0.5:
            attrs = FrozenMap({**attrs, **self.annotations()})
        body = self.stmt(5)
        if self.chance.random() < 0.4:
            allocated = tuple(self.buffer() for _ in range(self.pick([0, 1])))
            body = t.BlockRealize((), n.IntImm(1, DataType("bool")), t.Block("root", (), (), (), allocated, None, body))
        return t.PrimFunc(tuple(params), body, attrs, self.pick([DataType("void"), DataType("int32")]))

"""Type inference for every relay expression.

`infer_type` finds the type of each expression below a root and remembers it on the expression (`checked_type`).
Operators answer for themselves (`Operator.infer`) once the types of their operands are known; what is not annotated
is found by unification, and calls that had to wait are tried again until nothing changes.  A function with
`type_params` is polymorphic: each use of its let-bound name or of the function in the module is instantiated anew.
Expressions that have a type already are not visited again, and most programs have one before (`Expr.checked_type`):
what is left to do here are variables without annotation, polymorphism, recursion, and what the module tells.

>>> from .expr import Tuple, Var
>>> from .types import TensorType
>>> x = Var("x", TensorType((2, 3)))
>>> infer_type(Tuple((x, x)))
(Tensor[(2, 3), float32], Tensor[(2, 3), float32])

Invariant: an expression with a type has typed expressions below it only.
"""

# The tables at the end name the class's own rules.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from ...arith.nodes import Var
from ...core.errors import WorkbenchError, nearest
from ...core.module import IRModule
from ...core.node import Node, post_order
from ...core.per_node import per_node
from ...core.trampoline import Task, run
from ...core.walks import parts_first
from . import expr as e
from . import types as t
from .brief import brief
from .infer_call import CallRules
from .operator import Operator
from .plan import operands
from .types import FuncType, IncompleteType, Type, is_complete
from .unify import Unifier


@overload
def infer_type(program: IRModule, mod: None = None) -> IRModule: ...
@overload
def infer_type(program: e.Expr, mod: IRModule | None = None) -> Type: ...
def infer_type(program: Any, mod: IRModule | None = None) -> Any:
    """Type a module (the module is returned) or an expression (its type is); `mod` gives the functions it names.

    Raises `WorkbenchError` E-TYPE-... with the expression, its operands' types and the function it stands in.
    """
    if isinstance(program, IRModule):
        _infer_module(program)
        return program
    known = program.type_or_none
    if known is not None and is_complete(known) and not isinstance(program, (e.GlobalVar, e.Constructor)):
        return known
    inference = Inference(mod or IRModule({}))
    inference.root(program, "the expression")
    inference.finish()
    return program.checked_type


def keep_type(new: Node, old: Node) -> None:
    """Types that operands do not tell (of a match, of a polymorphic function's call) stay where those of operands do.

    `new` is `old` rebuilt on other operands.  What they tell is left to be asked.
    """
    if not isinstance(new, e.Expr) or not isinstance(old, e.Expr) or _is_told(new):
        return
    known = old.remembered_type
    if known is None or new.type_or_none is not None:
        return
    types = [[operand.type_or_none for operand in operands(expr)] for expr in (new, old)]
    if None not in types[0] and types[0] == types[1]:
        new.set_type(known)


def _is_told(expr: e.Expr) -> bool:
    plain = isinstance(expr, e.Call) and isinstance(expr.op, Operator)
    return plain or isinstance(expr, (e.Tuple, e.TupleGetItem))


def _infer_module(mod: IRModule) -> None:
    functions = {name: func for name, func in mod.items() if isinstance(func, e.Function)}
    inference = Inference(mod)
    for name in _callees_first(functions):
        inference.signatures[name] = inference.root(functions[name], f"function {name}")
    inference.finish()


@per_node
def _named_by(program: e.Expr) -> tuple[e.GlobalVar, ...]:
    """The functions of a module that a program names."""
    return tuple(node for node in post_order(program) if isinstance(node, e.GlobalVar))


def _callees_first(functions: dict[str, e.Function]) -> list[str]:
    """Function names such that, cycles aside, callees come before callers."""
    uses: dict[str, list[str]] = {}
    for name, func in functions.items():
        used = [node.name_hint for node in _named_by(func)]
        uses[name] = [other for other in dict.fromkeys(used) if other in functions]
    return list(parts_first(functions, uses.__getitem__, str))


def signature(func: e.Function) -> FuncType | None:
    """The type that a function declares, or None unless every parameter and the result is annotated."""
    annotated = [param.type_annotation for param in func.params]
    if func.ret_type is None or not is_complete(func.ret_type):
        return None
    complete = tuple(one for one in annotated if one is not None and is_complete(one))
    if len(complete) != len(annotated):
        return None
    return FuncType(complete, func.ret_type, func.type_params)


class Inference(CallRules):
    """One run over one or more roots, with one set of unknowns."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(Unifier())
        self.mod = mod
        self.found: dict[int, tuple[e.Expr, Type]] = {}
        self.signatures: dict[str, Type] = {}
        self.place = ""
        self.fresh = False
        """True while the types remembered on expressions cannot be trusted (a function they name has changed)."""

    def root(self, program: e.Expr, place: str) -> Type:
        """Infer everything below `program`; answers its type."""
        self.place = place
        self.fresh = self._names_changed_functions(program)
        self.rigid = {id(variable) for variable in _dimensions_of(program)}
        try:
            return run(self.visit(program))
        except WorkbenchError as error:
            raise error.located(place) from None

    def _names_changed_functions(self, program: e.Expr) -> bool:
        for node in _named_by(program):
            if node.remembered_type is not None:
                if node.name_hint not in self.mod:
                    if program.remembered_type is not None:
                        return True  # it was typed with a module that had the function
                elif node.remembered_type != self._global_type(node):
                    return True
        return False

    # --- visiting ---

    def visit(self, expr: e.Expr) -> Task:
        """The type of `expr`, perhaps with unknown parts."""
        known = self.known(expr)
        if known is not None:
            return known
        rule = _RULES.get(type(expr))
        if rule is None:
            raise WorkbenchError("E-TYPE-EXPRESSION", f"{type(expr).__name__} is not a relay expression", nodes=(expr,))
        found = yield rule(self, expr)
        self.keep(expr, found)
        return found

    def known(self, expr: e.Expr) -> Type | None:
        met = self.found.get(id(expr))
        if met is not None:
            return met[1]
        cached = expr.remembered_type
        if cached is None or isinstance(expr, e.GlobalVar):
            return None
        if self.fresh and not isinstance(expr, e.Constant):
            cached = expr.type_annotation if isinstance(expr, e.Var) else None
            if cached is None:
                return None
        return cached if isinstance(cached, t.TensorType) or is_complete(cached) else None

    def keep(self, expr: e.Expr, found: Type) -> None:
        self.found[id(expr)] = (expr, found)

    def finish(self) -> None:
        """Settle the calls that waited and remember all types on their expressions."""
        self.settle()
        for expr, found in self.found.values():
            whole = self.unifier.resolve(found)
            if not is_complete(whole):
                raise self.unknown(expr)
            self.found[id(expr)] = (expr, whole)
        for expr, whole in self.found.values():
            expr.set_type(whole)

    def unknown(self, expr: e.Expr) -> WorkbenchError:
        name = f"%{expr.name_hint}" if isinstance(expr, e.Var) else brief(expr)
        return WorkbenchError(
            "E-TYPE-INCOMPLETE",
            f"the type of {name} cannot be inferred",
            where=self.place,
            fix="annotate it, or the parameter it depends on, for example with TensorType((2, 3), 'float32')",
            nodes=(expr,),
        )

    # --- leaves ---

    def _var(self, expr: e.Var) -> Task:
        if expr.type_annotation is None:
            raise WorkbenchError(
                "E-TYPE-UNBOUND",
                f"%{expr.name_hint} has no type and nothing here binds it",
                where=self.place,
                expected="a parameter, a let-bound variable or a type annotation",
                fix=f"give the variable a type, or bind it: Let({expr.name_hint}, value, body)",
                nodes=(expr,),
            )
        return expr.type_annotation
        yield

    def _constant(self, expr: e.Constant) -> Task:
        return t.TensorType(expr.data.shape, expr.data.dtype)
        yield

    def _global(self, expr: e.GlobalVar) -> Task:
        name = expr.name_hint
        unseen = name not in self.signatures
        found = self._global_type(expr)
        if unseen and signature(self.mod[name]) is None:
            found = self.signatures[name] = yield self.visit(self.mod[name])
        return found

    def _global_type(self, expr: e.GlobalVar) -> Type:
        name = expr.name_hint
        if name in self.signatures:
            return self.signatures[name]
        if name not in self.mod:
            raise WorkbenchError(
                "E-TYPE-GLOBAL",
                f"the module has no function @{name}",
                where=self.place,
                found=f"functions: {', '.join(self.mod.names()) or 'none'}",
                fix=nearest(name, self.mod.names()) or "add it to the module, or pass mod= to infer_type",
                nodes=(expr,),
            )
        func = self.mod[name]
        if not isinstance(func, e.Function):
            raise WorkbenchError("E-TYPE-GLOBAL", f"@{name} is not a relay function", found=type(func).__name__)
        declared = signature(func)
        self.signatures[name] = declared if declared is not None else self.provisional(func)
        return self.signatures[name]

    def _constructor(self, expr: e.Constructor) -> Task:
        return self.constructor_type(expr)
        yield

    def constructor_type(self, expr: e.Constructor) -> FuncType:
        """The type of an ADT's constructor: from what it holds to the ADT applied to its type variables."""
        data = self.mod.type_definitions.get(expr.belong_to)
        if not isinstance(data, t.TypeData):
            raise WorkbenchError(
                "E-TYPE-ADT",
                f"the module defines no data type {expr.belong_to}",
                where=self.place,
                found=f"types: {', '.join(self.mod.type_definitions) or 'none'}",
                fix=nearest(expr.belong_to, self.mod.type_definitions) or "IRModule({...}, type_definitions={...})",
                nodes=(expr,),
            )
        for constructor in data.constructors:
            if constructor.name_hint == expr.name_hint:
                made = t.TypeCall(t.GlobalTypeVar(data.header), data.type_vars)
                return FuncType(constructor.inputs, made, data.type_vars)
        names = [constructor.name_hint for constructor in data.constructors]
        raise WorkbenchError(
            "E-TYPE-CONSTRUCTOR",
            f"{data.header} has no constructor {expr.name_hint}",
            where=self.place,
            found=f"constructors: {', '.join(names)}",
            fix=nearest(expr.name_hint, names),
            nodes=(expr,),
        )

    # --- functions and bindings ---

    def provisional(self, func: e.Function) -> FuncType:
        """A function's type before its body is known: unknown parts are filled in later, no polymorphism yet."""
        arguments = tuple(self.parameter(param) for param in func.params)
        met = self.found.get(id(func.body))
        result = func.ret_type or (met[1] if met is not None else self.result_of(func))
        return FuncType(arguments, result, func.type_params if signature(func) is not None else ())

    def parameter(self, param: e.Var) -> Type:
        known = self.known(param)
        if known is None:
            known = param.type_annotation or IncompleteType()
            self.keep(param, known)
        return known

    def _function(self, expr: e.Function) -> Task:
        arguments = tuple(self.parameter(param) for param in expr.params)
        result = yield self.visit(expr.body)
        promised = self.promised.get(id(expr))
        if promised is not None:
            self.expect(promised[1], result, expr, "the function's result where it calls itself")
        if expr.ret_type is not None:
            self.expect(expr.ret_type, result, expr, "the declared result")
            result = expr.ret_type
        return FuncType(arguments, result, expr.type_params)

    def _let(self, expr: e.Let) -> Task:
        """A chain of lets is one visit: chains are long, and each body waits for its variable only."""
        chain: list[e.Let] = []
        current: e.Expr = expr
        while isinstance(current, e.Let) and (current is expr or self.known(current) is None):
            yield self._binding(current)
            chain.append(current)
            current = current.body
        found = yield self.visit(current)
        for let in chain[1:]:
            self.keep(let, found)
        return found

    def _binding(self, let: e.Let) -> Task:
        before = self.known(let.var) or let.var.type_annotation
        if isinstance(let.value, e.Function) and self.known(let.value) is None:
            declared = signature(let.value) or self.provisional(let.value)
            self.keep(let.var, declared if before is None else before)
        found = yield self.visit(let.value)
        if before is not None:
            found = self.expect(before, found, let, f"the annotation of %{let.var.name_hint}")
            found = before if is_complete(before) else found
        self.keep(let.var, found)

    def _if(self, expr: e.If) -> Task:
        condition = self.unifier.shallow((yield self.visit(expr.cond)))
        if isinstance(condition, IncompleteType):
            self.expect(t.scalar_type("bool"), condition, expr, "a condition")
        elif not isinstance(condition, t.TensorType) or condition.shape or condition.dtype != "bool":
            raise WorkbenchError(
                "E-TYPE-CONDITION",
                "the condition of if must be a scalar bool",
                where=f"{brief(expr)} in {self.place}",
                found=repr(condition),
                expected="bool",
                fix="reduce it to one bool, for example with all(...)",
                nodes=(expr.cond,),
            )
        first = yield self.visit(expr.true_branch)
        second = yield self.visit(expr.false_branch)
        return self.expect(first, second, expr, "the other branch of the if")

    # --- tuples and references ---

    def _tuple(self, expr: e.Tuple) -> Task:
        fields: list[Type] = []
        for item in expr.fields:
            fields.append((yield self.visit(item)))
        return t.TupleType(tuple(fields))

    def _item(self, expr: e.TupleGetItem) -> Task:
        whole = yield self.visit(expr.tuple_value)
        return self.later(expr, lambda: self.tuple_item(expr, whole))

    def _ref_create(self, expr: e.RefCreate) -> Task:
        return t.RefType((yield self.visit(expr.value)))

    def _ref_read(self, expr: e.RefRead) -> Task:
        return self.cell((yield self.visit(expr.ref)), expr)

    def _ref_write(self, expr: e.RefWrite) -> Task:
        held = self.cell((yield self.visit(expr.ref)), expr)
        self.expect(held, (yield self.visit(expr.value)), expr, "what the reference holds")
        return t.TupleType(())

    # --- data types ---

    def _match(self, expr: e.Match) -> Task:
        data = yield self.visit(expr.data)
        result: Type = IncompleteType()
        for clause in expr.clauses:
            self._pattern(clause.lhs, data, expr)
            found = yield self.visit(clause.rhs)
            result = self.expect(result, found, expr, "the earlier clauses of the match")
        return result

    def _pattern(self, pattern: e.Pattern, data: Type, expr: e.Match) -> None:
        todo: list[tuple[e.Pattern, Type]] = [(pattern, data)]
        while todo:
            current, found = todo.pop()
            if isinstance(current, e.PatternVar):
                before = self.known(current.var) or current.var.type_annotation
                kept = found if before is None else self.expect(before, found, expr, f"%{current.var.name_hint}")
                self.keep(current.var, kept)
            elif isinstance(current, e.PatternTuple):
                fields = tuple(IncompleteType() for _ in current.patterns)
                self.expect(found, t.TupleType(fields), expr, "the matched value")
                todo.extend(zip(current.patterns, fields, strict=True))
            elif isinstance(current, e.PatternConstructor):
                polymorphic = self.constructor_type(current.constructor)
                self.keep(current.constructor, polymorphic)
                made = self.unifier.instantiate(polymorphic)
                self.check_arity(current.constructor.name_hint, len(made.arg_types), len(current.patterns), expr)
                self.expect(found, made.ret_type, expr, "the matched value")
                todo.extend(zip(current.patterns, made.arg_types, strict=True))

    def _call(self, expr: e.Call) -> Task:
        arguments: list[Type] = []
        for argument in expr.args:
            arguments.append((yield self.visit(argument)))
        if isinstance(expr.op, e.Expr):
            callee = yield self.visit(expr.op)
            return self.later(expr, lambda: self.applied(expr, callee, arguments))
        return self.later(expr, lambda: self.operated(expr, arguments))


def _dimensions_of(program: e.Expr) -> list[Node]:
    """Variables in the types of the root's parameters: inside it they stand for themselves."""
    if not isinstance(program, e.Function):
        return []
    held = [param.type_annotation for param in program.params if param.type_annotation is not None]
    return [node for node in post_order(held) if isinstance(node, Var)]


_RULES: dict[type[e.Expr], Callable[[Inference, Any], Task]] = {
    e.Var: Inference._var,
    e.Constant: Inference._constant,
    e.GlobalVar: Inference._global,
    e.Constructor: Inference._constructor,
    e.Call: Inference._call,
    e.Function: Inference._function,
    e.Let: Inference._let,
    e.If: Inference._if,
    e.Tuple: Inference._tuple,
    e.TupleGetItem: Inference._item,
    e.RefCreate: Inference._ref_create,
    e.RefRead: Inference._ref_read,
    e.RefWrite: Inference._ref_write,
    e.Match: Inference._match,
}

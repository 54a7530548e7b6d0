"""IRModule: functions by name, of any IR, over one immutable state.

A module is a thin mutable handle (`mod["main"] = f`, as in the classic API) on a `ModuleState`, which is a value.
Functions refer to each other by name.  Passes take and return modules and never change the one they were given.

>>> IRModule({}).names()
()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._lazy import bundle_of, classic_text_of, display, function_of, global_var, script_of
from .equal import fingerprint, same, structural_equal
from .errors import WorkbenchError, nearest
from .flat import Bundle, flatten, unflatten_module
from .node import EMPTY, FrozenMap, Node, post_order


@dataclass(frozen=True, eq=False)
class ModuleState:
    """What a module is at one moment: functions and type definitions by name, and attributes."""

    functions: FrozenMap = EMPTY
    types: FrozenMap = EMPTY
    attrs: FrozenMap = EMPTY


class IRModule:
    """Functions by name.  Keys may be text or anything with a `name_hint` (a relay `GlobalVar`)."""

    __slots__ = ("__weakref__", "state")

    def __init__(
        self,
        functions: Mapping[Any, Node] | None = None,
        type_definitions: Mapping[Any, Node] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        named = {key_name(key): function for key, function in (functions or {}).items()}
        types = {key_name(key): data for key, data in (type_definitions or {}).items()}
        self.state = ModuleState(FrozenMap(named), FrozenMap(types), FrozenMap(attrs or {}))

    @classmethod
    def from_state(cls, state: ModuleState) -> IRModule:
        made = cls.__new__(cls)
        made.state = state
        return made

    @classmethod
    def from_expr(cls, expr: Node, functions: Mapping[Any, Node] | None = None) -> IRModule:
        """A module whose "main" is `expr` (a bare relay expression becomes a function of its free variables)."""
        return cls({**(functions or {}), "main": function_of(expr)})

    # --- reading ---

    @property
    def functions(self) -> FrozenMap:
        return self.state.functions

    @property
    def type_definitions(self) -> FrozenMap:
        return self.state.types

    @property
    def attrs(self) -> FrozenMap:
        return self.state.attrs

    def names(self) -> tuple[str, ...]:
        return tuple(self.state.functions)

    def __getitem__(self, key: Any) -> Any:
        name = key_name(key)
        if name in self.state.functions:
            return self.state.functions[name]
        raise WorkbenchError(
            "E-MODULE-FUNCTION",
            f"the module has no function {name!r}",
            found=f"functions: {', '.join(self.names()) or 'none'}",
            fix=nearest(name, self.names()),
        )

    def __contains__(self, key: Any) -> bool:
        return key_name(key) in self.state.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.state.functions)

    def __len__(self) -> int:
        return len(self.state.functions)

    def items(self) -> Any:
        return self.state.functions.items()

    def nodes(self) -> Iterator[Node]:
        """Every distinct node of all functions, children first."""
        return post_order(list(self.state.functions.values()))

    def get_global_var(self, name: str) -> Any:
        """A reference to the function `name` for use in calls.  Raises `WorkbenchError` if there is none."""
        self[name]
        return global_var(name)

    def get_global_vars(self) -> list[Any]:
        return [self.get_global_var(name) for name in self.names()]

    # --- changing ---

    def with_functions(self, changes: Mapping[str, Node]) -> IRModule:
        """A new module with these functions added or replaced; `self` if nothing differs."""
        functions = self.state.functions
        if all(functions.get(name) is function for name, function in changes.items()):
            return self
        return IRModule.from_state(replace(self.state, functions=FrozenMap({**functions, **changes})))

    def with_only(self, functions: Mapping[str, Node]) -> IRModule:
        """A new module with exactly these functions, keeping types and attributes."""
        return IRModule.from_state(replace(self.state, functions=FrozenMap(functions)))

    def with_attr(self, key: str, value: Any) -> IRModule:
        return IRModule.from_state(replace(self.state, attrs=self.state.attrs.set(key, value)))

    def __setitem__(self, key: Any, function: Node) -> None:
        self.state = self.with_functions({key_name(key): function}).state

    def update(self, other: IRModule | Mapping[Any, Node]) -> None:
        """Add or replace functions, in place (classic API)."""
        self.state = self.with_functions({key_name(key): value for key, value in other.items()}).state

    def copy(self) -> IRModule:
        return IRModule.from_state(self.state)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> IRModule:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return (unflatten_module, (flatten(_as_node(self.state)),))

    # --- comparing and showing ---

    def same(self, other: IRModule) -> bool:
        """Exact equality, names included."""
        return same(_parts(self.state), _parts(other.state))

    def structural_equal(self, other: IRModule) -> bool:
        return structural_equal(_parts(self.state), _parts(other.state))

    def fingerprint(self) -> str:
        return fingerprint(_parts(self.state))

    def script(self) -> str:
        """The text of the module, which parses back to it."""
        return script_of(self)

    def astext(self, show_meta_data: bool = False) -> str:
        """Relay's classic text."""
        return classic_text_of(self)

    def show(self) -> None:
        """Display the module, highlighted, in a notebook or terminal."""
        display(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle_of(self)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return f"IRModule({', '.join(self.names())})"


class HeldModule:
    """A field that holds what a module is at the moment when it is set, and gives a module of its own at each look.

    So neither who handed the module in nor who gets one out can change it; its functions stay the same objects.

        @dataclass(frozen=True)
        class Stage:
            module: HeldModule = HeldModule()
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._place = f"_{name}_state"

    def __get__(self, holder: Any, owner: type | None = None) -> IRModule:
        if holder is None:
            raise AttributeError("a held module has no default")
        held: dict[str, ModuleState] = holder.__dict__
        return IRModule.from_state(held[self._place])

    def __set__(self, holder: Any, module: IRModule) -> None:
        holder.__dict__[self._place] = module.state


def key_name(key: Any) -> str:
    """The name that a key stands for."""
    if isinstance(key, str):
        return key
    name = getattr(key, "name_hint", None)
    if isinstance(name, str):
        return name
    raise WorkbenchError("E-MODULE-KEY", "a function's key is its name or a GlobalVar", found=repr(key)[:80])


def _parts(state: ModuleState) -> tuple[FrozenMap, ...]:
    return (state.functions, state.types, state.attrs)


def _as_node(state: ModuleState) -> Node:
    return Bundle(state.functions, state.types, state.attrs)

"""Functions with a version for each kind of target, as the classic API dispatches: `generic_func` and its override.

    @override_native_generic_func("scale")
    def scale(x):                          # the default
        return x

    @scale.register(["cpu"])
    def scale_on_cpu(x): ...

    with Target("llvm"):
        scale(x)                           # that of the first of the target's keys that has one
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core.errors import WorkbenchError
from .target import Target

Function = Callable[..., Any]


class GenericFunc:
    """A function that answers by the keys of the current target (see the module's header)."""

    def __init__(self, name: str, default: Function | None = None) -> None:
        self.name = name
        self.default = default
        self.versions: dict[str, Function] = {}

    def set_default(self, func: Function, allow_override: bool = False) -> None:
        """The version for targets that have none.  Raises `WorkbenchError` E-GENERIC-FUNC where there is one."""
        if self.default is not None and not allow_override:
            raise self._refuse("it has a default already", "allow_override=True")
        self.default = func

    def register(
        self, keys: str | Sequence[str], func: Function | None = None, override: bool = True,
        allow_override: bool | None = None,
    ) -> Any:  # fmt: skip
        """The version for targets with one of these keys; a decorator without `func`.

        Raises `WorkbenchError` E-GENERIC-FUNC for a key that has one, unless `override`.
        """
        if isinstance(func, (list, tuple, str)):  # the classic GenericFunc.register(func, key_list)
            keys, func = func, keys  # type: ignore[assignment]
        replacing = override if allow_override is None else allow_override

        def enter(version: Function) -> Function:
            for key in [keys] if isinstance(keys, str) else list(keys):
                if key in self.versions and not replacing:
                    raise self._refuse(f"it has a version for {key} already", "override=True")
                self.versions[key] = version
            return version

        return enter if func is None else enter(func)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The version of the current target.  Raises `WorkbenchError` E-GENERIC-FUNC where there is none."""
        target = Target.current(allow_none=True)
        keys = target.keys if target is not None else ()
        chosen = next((self.versions[key] for key in keys if key in self.versions), self.default)
        if chosen is None:
            raise self._refuse(f"it has no version for {target or 'no target'} and no default", "set_default(func)")
        return chosen(*arguments, **named)

    def _refuse(self, message: str, fix: str) -> WorkbenchError:
        known = ", ".join(sorted(self.versions)) or "none"
        return WorkbenchError(
            "E-GENERIC-FUNC", f"generic function {self.name}: {message}", found=f"versions for {known}", fix=fix
        )

    def __repr__(self) -> str:
        return f"GenericFunc({self.name!r}, {sorted(self.versions)})"


_KNOWN: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of that name; a new one without versions where there is none."""
    return _KNOWN.setdefault(name, GenericFunc(name))


def generic_func(fdefault: Function) -> GenericFunc:
    """A generic function whose default is the decorated one."""
    made = GenericFunc(fdefault.__name__, fdefault)
    functools.update_wrapper(made, fdefault)
    return made


def override_native_generic_func(func_name: str) -> Callable[[Function], GenericFunc]:
    """A decorator: the function becomes the default of the generic function of that name."""

    def decorate(fdefault: Function) -> GenericFunc:
        made = get_native_generic_func(func_name)
        made.set_default(fdefault, allow_override=True)
        return made

    return decorate

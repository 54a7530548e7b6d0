"""Whether the workbench's own modules are what its files say: users may put a function or a number in place of another.

    is_patched()                    # something of a user's stands in a module or a class of the workbench's
    is_watched()                    # rewrites, origins, breakpoints are listened to, or limited, around this call
    constants()                     # by module: a digest of the constants in it and in its classes
    sources_digest()                # of the files

A process in which nobody has changed anything (a helper of `kernels`) says which digests are right.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import copy_context
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

from .. import IMPORTED_AT
from ..core.code_names import is_own, is_users, is_users_file

_NOT_COMPILING: Final = frozenset({"ui", "views", "teach"})
"""Folders of the workbench that no compiling code imports."""
_CONSTANT: Final = re.compile(r"(?:\w+\.)?_?[A-Z][A-Z0-9_]*(?<!IMPORTED_AT)")
"""What constants are called."""
_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_CONTAINERS: Final = (tuple, frozenset)
_HARMLESS: Final = frozenset(
    f"workbench_{name}" for name in ("target", "pass_context", "progress", "progress_task", "time_limit", "reliance")
)
"""Context variables that a key holds, or that make no difference to what is compiled."""
_FOLDER: Final = str(Path(__file__).resolve().parents[1])
_STAND_INS: Final = ("unittest.mock", "mock.mock")
"""Modules of classes whose objects stand for others."""


def loaded() -> list[str]:
    """The names of the workbench's modules in this process that compiling code may use."""
    return [
        name for name, module in list(sys.modules.items())
        if is_own(name) and "." in name and name.split(".")[1] not in _NOT_COMPILING and module is not None
    ]  # fmt: skip


def is_patched() -> bool:
    """Whether something of a user's stands in a module or a class of the workbench's: code that no file shows."""
    theirs: dict[Any, bool] = {}
    places: dict[str, bool] = {}
    for name in loaded():
        for key, value in _held(sys.modules[name], name):
            module = _module_of(value)
            if module not in theirs:
                theirs[module] = module in _STAND_INS or _is_users(module)
            if theirs[module] or (type(value) is FunctionType and _is_elsewhere(value, key, places)):
                return True
    return False


def _is_elsewhere(function: FunctionType, key: str, places: dict[str, bool]) -> bool:
    """Whether a function's code was written in no file of the workbench's or a library's, nor made by a dataclass."""
    place = function.__code__.co_filename
    if place not in places:
        places[place] = not place.startswith(_FOLDER) and is_users_file(place)
    return places[place] and not (place == "<string>" and key.rpartition(".")[2].startswith("__"))


def is_watched() -> bool:
    """Whether a context around this call listens to what passes do, or changes what they may do."""
    return any(
        variable.name.startswith("workbench_") and variable.name not in _HARMLESS and value not in (None, "")
        for variable, value in copy_context().items()
    )


def _is_users(module: Any) -> bool:
    """Whether a module is a user's; what is made by `NamedTuple` says one that is nobody's."""
    return isinstance(module, str) and not module.startswith("namedtuple_") and is_users(module)


def _held(module: ModuleType, name: str) -> Iterator[tuple[str, Any]]:
    """What is in a module, and in the classes that are defined there."""
    for key, value in list(vars(module).items()):
        yield key, value
        if isinstance(value, type) and value.__module__ == name:
            yield from ((f"{key}.{inner}", held) for inner, held in list(vars(value).items()))


def _module_of(value: Any) -> Any:
    """The module of a function or a class, also of one within a wrapper; of other objects, that of their class."""
    if isinstance(value, (staticmethod, classmethod, partial)):
        value = value.func if isinstance(value, partial) else value.__func__
    elif isinstance(value, property):
        value = value.fget
    if isinstance(value, type) or callable(value):
        return getattr(value, "__module__", None)
    return type(value).__module__


def constants(names: Iterable[str] | None = None) -> dict[str, str]:
    """A digest of the constants of modules (numbers, texts), by name; of those that are loaded if none are named."""
    found: dict[str, str] = {}
    for name in loaded() if names is None else names:
        module = sys.modules.get(name) or importlib.import_module(name)
        plain = ((key, _text(value)) for key, value in _held(module, name) if _CONSTANT.fullmatch(key))
        digest = hashlib.sha256()
        for key, text in sorted((key, text) for key, text in plain if text is not None):
            digest.update(f"{key}={text}\x1f".encode("utf-8", "surrogatepass"))
        found[name] = digest.hexdigest()[:16]
    return found


def _text(value: Any) -> str | None:
    """A plain value in words that are the same in every process; None for others."""
    if type(value) in _PLAIN:
        return repr(value)
    if type(value) not in _CONTAINERS:
        return None
    parts = [_text(part) for part in value]
    if None in parts:
        return None
    ordered = sorted(map(str, parts)) if type(value) is frozenset else map(str, parts)
    return f"{type(value).__name__}({', '.join(ordered)})"


def are_same(then: Mapping[str, str]) -> bool:
    """Whether the numbers and texts of the modules that are loaded now are what they were, as far as that is known."""
    return all(then.get(name, digest) == digest for name, digest in constants().items())


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Of the code that compiles, as it lies in files; empty where a file was written after this process read them."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in _sources(root):
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            if max(info.st_mtime, info.st_ctime) >= IMPORTED_AT:
                return ""
            digest.update(f"{path.relative_to(root)}\x1f".encode())
            digest.update(file.read())
    return digest.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _NOT_COMPILING and name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names) if name.endswith((".py", ".h")))

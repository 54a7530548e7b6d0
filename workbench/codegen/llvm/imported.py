"""Code of others that a program asks for: the pragma ``import_llvm`` of a loop, LLVM IR or object code as text.

`contrib.clang.create_llvm` makes such texts of C sources.  Object code is for the machine that it names.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import pre_order
from ...core.per_node import per_node
from ...runtime.symbols import OBJECT_MARK
from ...target.host import architecture
from ...target.target import Target
from ...tir import nodes as t
from ...tir.outside import IMPORT_LLVM, require_allowed
from . import machine
from .cache import compile_cached


def texts(mod: IRModule) -> tuple[str, ...]:
    """The texts that the functions of a module import, each once.

    Raises `WorkbenchError` (E-TRUST-EXTERN) for a function from a file whose code nobody allowed.
    """
    found: dict[str, None] = {}
    for name, function in mod.functions.items():
        if not isinstance(function, t.PrimFunc):
            continue
        require_allowed(function, name)
        found |= dict.fromkeys(_imports(function))
    return tuple(found)


@per_node
def _imports(function: t.PrimFunc) -> tuple[str, ...]:
    nodes = (node for node in pre_order(function.body, t.Stmt) if isinstance(node, (t.For, t.Block)))
    texts = (node.annotations.get(IMPORT_LLVM) for node in nodes)
    return tuple(text for text in texts if isinstance(text, str))


def object_code(text: str, target: Target) -> bytes:
    """The object code of an imported text.  Raises `WorkbenchError` E-CODEGEN-IMPORT."""
    if not text.startswith(OBJECT_MARK):
        return _compiled(text, target)
    made_for, _, data = text.removeprefix(OBJECT_MARK).strip().partition(" ")
    if made_for != target.architecture or target.architecture != architecture():
        raise _refuse(f"object code for {made_for}", f"code for {target.architecture}", "compile it with clang")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _refuse("object code that is cut or changed", "what create_llvm answered", "make it again") from None


def _compiled(text: str, target: Target) -> bytes:
    binding: Any = machine._binding()
    try:
        binding.parse_assembly(text)
    except RuntimeError as error:
        raise _refuse(str(error).strip()[:200], "LLVM IR, or what contrib.clang.create_llvm answers", "") from None
    return compile_cached([machine.job_of(text, target)])[0]


def defines(artefact: Any, name: str) -> bool:
    """Whether imported code of an artefact defines a symbol."""
    if any(name in text for text in artefact.imports if not text.startswith(OBJECT_MARK)):
        return True
    wanted = name.encode() + b"\0"
    return any(wanted in code for key, code in artefact.objects.items() if key.startswith("import "))


def _refuse(found: str, expected: str, fix: str) -> WorkbenchError:
    return WorkbenchError(
        "E-CODEGEN-IMPORT", "the code that the program imports cannot be used", found=found, expected=expected, fix=fix
    )

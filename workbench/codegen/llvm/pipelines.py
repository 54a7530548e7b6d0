"""What LLVM does with a module's text before it generates code.

Functions with the attribute ``"lean"`` need one pass, which takes what is left of local buffers into registers.  The
others, loops over scalars or with conditions, go through LLVM's own pipeline, which vectorises and splits them; they
are optimised in a module of their own and joined with the rest again.

    module = optimised(llvm, text, context, machine, LEAN)

With a level 0 to 3, LLVM's pipeline of that level runs over the whole module.

Masks that turn out to be all true are taken away (`instcombine`) wherever no pipeline would: LLVM 22 makes such a
masked load a plain one of unknown size when it selects instructions, and aborts as soon as that is compared with a
store (assertion in `LocationSize::getValue`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

LEAN: Final = -1
"""The level of what `run` executes, unless the target names another."""
FULL: Final = 3
"""LLVM's level for functions that are not lean."""
_FUNCTION: Final = re.compile(r"^define ([^\n]*) @([\w.$]+)\((.*?)\) ([^\n]*)\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_PARAMETER: Final = re.compile(r" %[\w.]+(?=,|$)")
ATTRIBUTE: Final = '"lean"'
MASKED: Final = "@llvm.masked."


def optimised(llvm: Any, text: str, context: Any, machine: Any, level: int) -> Any:
    """A verified module after LLVM's passes.  Raises RuntimeError for a text that is not valid."""
    if level != LEAN:
        module = _parsed(llvm, text, context, machine)
        if level:
            _run_pipeline(llvm, module, machine, level)
        elif MASKED in text:
            _run(llvm, module, machine, lambda passes: passes.add_instruction_combine_pass())
        return module
    functions = list(_FUNCTION.finditer(text))
    scalar = [found for found in functions if ATTRIBUTE not in found[4]]
    names = {found[2] for found in scalar}
    module = _parsed(llvm, _without(text, functions, names) if scalar else text, context, machine)
    _run(llvm, module, machine, lambda passes: passes.add_sroa_pass())
    if MASKED in text:
        _run(llvm, module, machine, lambda passes: passes.add_instruction_combine_pass())
    if scalar:
        rest = _parsed(llvm, _without(text, functions, {found[2] for found in functions} - names), context, machine)
        _run_pipeline(llvm, rest, machine, FULL)
        module.link_in(rest)
        for found in scalar:
            if found[1].startswith("internal"):
                module.get_function(found[2]).linkage = "internal"
        module.verify()
    return module


def _parsed(llvm: Any, text: str, context: Any, machine: Any) -> Any:
    module = llvm.parse_assembly(text, context)
    try:
        module.verify()
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
    except BaseException:
        module.close()  # before its context, whoever keeps the error
        raise
    return module


def _without(text: str, functions: list[re.Match[str]], names: set[str]) -> str:
    """A module's text in which these functions are declared only, and internal ones are seen by other modules."""
    parts: list[str] = []
    end = 0
    for found in functions:
        linkage, name, parameters, _ = found.groups()
        result = linkage.split(" ")[-1]
        seen = "hidden " if linkage.startswith("internal") else ""
        parts.append(text[end : found.start()])
        if name in names:
            kinds = ", ".join(_PARAMETER.sub("", parameter) for parameter in parameters.split(", "))
            parts.append(f"declare {seen}{result} @{name}({kinds})\n")
        else:
            parts.append(found[0].replace("define internal ", "define hidden ", 1))
        end = found.end()
    return "".join([*parts, text[end:]])


def _run(llvm: Any, module: Any, machine: Any, add: Callable[[Any], None]) -> None:
    """Run one function pass over every function."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_function_pass_manager()
    add(passes)
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _run_pipeline(llvm: Any, module: Any, machine: Any, level: int) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    # Vectors are explicit; SLP takes seconds on unrolled tiles and makes them slower.
    tuning.slp_vectorization = False
    tuning.loop_vectorization = True
    tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)

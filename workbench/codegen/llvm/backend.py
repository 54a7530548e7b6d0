"""The llvm backend: modules of loop functions to native code.

    artefact = backend.compile_module(IRModule({"add": func}), Target("llvm"))
    artefact.module()["add"](a, b, c)

Functions are lowered if they are not yet, emitted as text, compiled (in worker processes when there are many), and
linked on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...runtime import symbols as c_symbols
from ...runtime.module import CodeUnit, Module
from ...runtime.native.loader import library, why_missing
from ...runtime.packed import PackedFunc, packed_at
from ...target.target import Target
from ...tir import nodes as t
from ...tir.outside import require_allowed
from ...tir.transforms.pipeline import lower_module
from ...tir.verify import verify
from . import cache, imported, jit, machine, returns
from .external import extern_names
from .fitting import require_fitting, why_foreign
from .functions import emit_kernel, emit_wrapper
from .places import SourcePlace, printed
from .signature import Parameter, packed_parameters
from .texts import Texts
from .types import symbol
from .unsafe_calls import ContainedLibrary, is_unsafe
from .writer import ModuleWriter

BASELINE_CPU = {"x86_64": "x86-64"}
"""By architecture: the processor that wrappers are compiled for, so that they can refuse to run the rest."""


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do; asked by passes and screens."""

    name: str = "llvm"
    kinds: tuple[str, ...] = ("llvm",)
    runs_here: bool = True
    forms: tuple[str, ...] = ("ll", "asm", "object")
    vectors: bool = True
    threads: tuple[str, ...] = ()


@dataclass
class Artefact:
    """Compiled functions: one unit of code a function, before or after linking."""

    target: Target
    lowered: IRModule
    texts: dict[str, str]
    """LLVM IR as emitted, by function."""
    objects: dict[str, bytes]
    """Object code by function."""
    exported: dict[str, str]
    """Packed symbol by function name."""
    symbols: dict[str, str]
    """Kernel symbol by function name."""
    parameters: dict[str, tuple[Parameter, ...]]
    sources: dict[str, str] = field(default_factory=dict)
    """The printed loop program by function: what debug locations point into."""
    cpu_features: str = ""
    externs: tuple[str, ...] = ()
    """C functions that the code calls by symbol."""
    imports: tuple[str, ...] = ()
    """LLVM IR and object code of others, which the program asks for (`imported`)."""
    _linked: list[Any] = field(default_factory=list)

    def link(self) -> Any:
        """The functions in this process (linked once): a `JitLibrary`."""
        if not self._linked:
            self._linked.append(_link(self.code, self.target, tuple(self.symbols.values())))
        return self._linked[0]

    @cached_property
    def code(self) -> CodeUnit:
        """All that it takes to link and call the functions."""
        return CodeUnit(
            tuple(self.objects.values()),
            self.target.triple or machine.host_triple(),
            self.cpu_features,
            dict(self.exported),
            why_foreign(self.target),
            {name: self.written(name) for name in self.texts},
            tuple(name for name in self.externs if not imported.defines(self, name)),
        )

    def module(self) -> Module:
        """The functions as a runtime module, linked into this process; code for another machine has none to call.

        Functions that a schedule made with ``unsafe=True`` are called in a process of their own.
        """
        if self.code.foreign or not is_unsafe(self.lowered):
            return _module(self.code, None if self.code.foreign else self.link(), self.get_source, self)
        functions = {name: self._contained(name) for name in self.texts}
        return Module(functions, entry=_entry(self.texts), code=self.code, sources=self.get_source, keep=self)

    @cached_property
    def _contained(self) -> Callable[[str], PackedFunc]:
        return ContainedLibrary(tuple(self.objects.values()), self.exported, self.parameters).function

    def written(self, name: str) -> tuple[int, ...]:
        """Positions of the packed arguments that a function writes."""
        return tuple(index for index, parameter in enumerate(self.parameters[name]) if parameter.written)

    @property
    def shown(self) -> Texts:
        """What the functions look like."""
        return Texts(self.target, self.texts, self.sources)

    def get_source(self, form: str = "ll", name: str | None = None) -> str:
        """As `Texts.get_source`."""
        return self.shown.get_source(form, name)


class LlvmBackend:
    """The backend object; see the module's header."""

    capabilities = Capabilities()

    def available(self) -> str:
        """Empty when code can be generated and run here, else the reason why not."""
        try:
            machine.host_processor()
        except (ImportError, OSError) as error:
            return f"llvmlite cannot be loaded: {error}"
        return ""

    def require_known(self, target: Target) -> None:
        """Refuse a target whose triple, processor, features or ABI LLVM does not know, before anything is compiled."""
        machine.target_machine(machine.job_of("", target))

    def compile_module(
        self, mod: IRModule, target: Target | str = "llvm", debug: bool = True, only: Container[str] | None = None
    ) -> Artefact:
        """Compile every loop function of `mod`, or those of the names `only`, which call the others by symbol.

        Raises `WorkbenchError` for what cannot be lowered or emitted; nothing is then kept.
        """
        made = self.emit_module(mod, target, debug, only=only)
        jobs = [machine.job_of(text, made.target) for text in made.texts.values()]
        made.objects.update(zip(made.texts, cache.compile_cached(jobs), strict=True))
        for number, text in enumerate(made.imports):
            made.objects[f"import {number}"] = imported.object_code(text, made.target)
        return made

    def key_of(self, target: Target) -> dict[str, Any]:
        """What code for a target depends on beside its program: processor, features, level, versions."""
        return cache.key_of(machine.job_of("", target))

    def module_of(self, code: CodeUnit, target: Target, sources: Callable[..., str]) -> Module:
        """The functions of code that was made for `target` before; `sources` gives texts as `Texts.get_source`."""
        return _module(code, None if code.foreign else _link(code, target), sources)

    def emit_module(
        self,
        mod: IRModule,
        target: Target | str = "llvm",
        debug: bool = True,
        expressions: bool = False,
        only: Container[str] | None = None,
    ) -> Artefact:
        """The LLVM IR of every loop function of `mod`, not compiled: an artefact without objects.

        With `expressions`, debug locations tell apart the expressions of a line; the code is the same.  `only`: the
        names of those to emit, which are lowered already.
        """
        chosen = Target(target)
        lowered = mod if only is not None else lower_module(mod)
        functions = {name: func for name, func in lowered.items() if isinstance(func, t.PrimFunc)}
        returns.require_uncalled(functions, contained=is_unsafe(mod))
        symbols = {name: symbol(name) for name in functions}
        functions = {name: func for name, func in functions.items() if only is None or name in only}
        exported = {name: f"__tvm_ffi_{exported_name(name)}" for name in functions}
        features = machine.needed_features(chosen)
        texts: dict[str, str] = {}
        sources: dict[str, str] = {}
        for name, func in functions.items():
            sources[name], texts[name] = _emitted(func, name, symbols, exported[name], chosen, debug, expressions)
        parameters = {name: packed_parameters(func) for name, func in functions.items()}
        externs = tuple(sorted({name for func in functions.values() for name in extern_names(func)}))
        return Artefact(
            chosen, lowered, texts, {}, exported, symbols, parameters, sources, features, externs, imported.texts(mod)
        )


def _verify(func: t.PrimFunc) -> None:
    """Refuse a program that is not well formed: LLVM's own assertions would end the process."""
    try:
        verify(func)
    except WorkbenchError as error:
        error.fix = (
            error.fix or "run the passes of KERNEL_PIPELINE, all of them and in order; check_numerics finds a bad one"
        )
        raise


_known: WeakKeyDictionary[t.PrimFunc, tuple[tuple[Any, ...], str, str]] = WeakKeyDictionary()
"""What was last emitted for a function: by what, its printed text, its LLVM text."""


def _emitted(
    func: t.PrimFunc, name: str, symbols: dict[str, str], exported: str, target: Target, debug: bool, expressions: bool
) -> tuple[str, str]:
    """A function printed, and as LLVM text; a function that has not changed since is not emitted again.

    Symbols are made of names, so the text depends on other functions by their names only.
    """
    key = (name, exported, str(target), debug, expressions, frozenset(symbols))
    known = _known.get(func)
    if known is not None and known[0] == key:
        return known[1], known[2]
    _verify(func)
    source, lines = printed(func, name, expressions) if debug else ("", None)
    text = emit_unit(func, name, symbols, exported, lines, f"{symbols[name]}.tir", target)
    _known[func] = (key, source, text)
    return source, text


def exported_name(name: str) -> str:
    """The part of the packed symbol after its prefix: the name itself when it is a C name, else a slug."""
    if name.isascii() and name.isidentifier() and len(name) <= 200:
        return name
    return symbol(name)


def emit_unit(
    func: t.PrimFunc,
    name: str,
    symbols: dict[str, str],
    exported: str,
    lines: Mapping[int, SourcePlace] | None,
    source_file: str,
    target: Target,
) -> str:
    """One LLVM module: a kernel and its packed wrapper.

    Raises `WorkbenchError` for a function of another target, and for one from a file with calls that nobody allowed.
    """
    require_allowed(func, name)
    own = func.attrs.get("target")
    if isinstance(own, Target) and str(own.kind) not in LlvmBackend.capabilities.kinds:
        raise WorkbenchError(
            "E-BUILD-TARGET",
            f"{name} is a program for targets of kind {own.kind}",
            found=str(own),
            expected=", ".join(LlvmBackend.capabilities.kinds),
            fix="take the attribute 'target' away, or write llvm there",
        )
    one_core = target.options.get("num-cores") == 1
    module = ModuleWriter(symbols[name], lines is not None, target.available_features, one_core)
    emit_kernel(module, func, name, symbols, lines, source_file)
    features = machine.needed_features(target) or None
    baseline = BASELINE_CPU.get(target.architecture, "") if features else ""
    emit_wrapper(module, func, name, symbols[name], exported, baseline, features, source_file)
    return module.text()


def _module(code: CodeUnit, linked: Any, sources: Callable[..., str], keep: Any = None) -> Module:
    """The functions of linked code; of code that is not, because it is another machine's, none to call."""
    exported, written = code.symbols or {}, code.written or {}
    functions: dict[str, PackedFunc] = {}
    if linked is not None:
        functions = {
            name: packed_at(linked[symbol], name, linked, frozenset(written.get(name, ())))
            for name, symbol in exported.items()
        }
    return Module(functions, entry=_entry(exported), code=code, sources=sources, keep=keep)


def _entry(names: Container[str]) -> str | None:
    """The function that calling a module calls; None: its first."""
    return "main" if "main" in names else None


def _link(code: CodeUnit, target: Target, more: Sequence[str] = ()) -> Any:
    """Code in this process, with the addresses of its exported functions and of `more` symbols."""
    require_fitting(target)
    runtime = library()
    if runtime is None:
        raise WorkbenchError(
            "E-RUN-NATIVE",
            "the native runtime is missing, so compiled code cannot run here",
            found=why_missing()[:300],
            fix="install a C compiler (cc, gcc, clang) or `pip install ziglang`, and try again",
        )
    addresses = runtime.addresses | {name: c_symbols.address_of(name) for name in code.externs}
    return jit.link(code.objects, [*(code.symbols or {}).values(), *more], addresses)


backend = LlvmBackend()

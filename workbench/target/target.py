"""`Target`: what code is made for, as a value.

A target is a kind and options, and answers questions about capabilities (`lanes`, `vector_registers`, `caches`,
`threads`, `scopes`).  Passes ask for capabilities and never for names.  Options left out mean the host.
The text of a target is canonical and parses back to it.

>>> str(Target("llvm -num-cores=2 -mcpu=znver5"))
'llvm -mcpu=znver5 -num-cores=2'
>>> Target("llvm -mcpu=znver5").lanes
16
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from ..core.errors import WorkbenchError, nearest
from . import host as host_facts
from .memory import NOMINAL, PROCESSOR_WAYS, WAYS, CacheLevel, Nominal, organised
from .tables import (
    ARCHITECTURE_ALIASES,
    BASELINES,
    COMMON_OPTIONS,
    INTEGER_OPTIONS,
    KINDS,
    LIST_OPTIONS,
    OPTION_ORDER,
    PROCESSORS,
    TAGS,
    Kind,
    Processor,
)

_entered: ContextVar[tuple[Target, ...]] = ContextVar("workbench_target", default=())
"""The targets entered with `with`, the innermost last.  It holds no token: threads may enter one target at once."""


_BOUNDS = {"opt-level": (0, 3), "num-cores": (1, 65_536), "vector-width": (0, 2_048)}
"""The least and the greatest of options that are whole numbers; others are 0 or more."""
_LONGEST = 4096
"""Characters of a target's text."""


class KindName(str):
    """A kind's name; `.name` is the classic spelling."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


class Target:
    """What code is made for.  `Target(text | dict | Target, host=None)`; equal targets have equal text.

    Raises `WorkbenchError` (E-TARGET-*) for an unknown kind, tag or option, naming the nearest spelling.
    """

    __slots__ = ("_kind", "host", "kind", "options")
    kind: KindName
    options: Mapping[str, Any]
    host: Target | None

    def __init__(self, target: Any, host: Any = None) -> None:
        kind, options, given_host = _parse(target)
        chosen = host if host is not None else given_host
        put = object.__setattr__
        put(self, "kind", KindName(kind))
        put(self, "_kind", KINDS[kind])
        put(self, "options", {name: options[name] for name in OPTION_ORDER if name in options})
        put(self, "host", None if chosen is None else chosen if isinstance(chosen, Target) else Target(chosen))

    def __setattr__(self, name: str, value: Any) -> None:
        raise WorkbenchError("E-TARGET-FROZEN", "a target is a value; make another one", found=f"target.{name} = ...")

    # --- capabilities ---

    @property
    def cpu(self) -> str:
        """The processor's name as LLVM knows it; empty for the host."""
        return self.options.get("mcpu", "")

    @property
    def triple(self) -> str:
        """The LLVM triple; empty for the host."""
        return self.options.get("mtriple", "")

    @property
    def features(self) -> tuple[str, ...]:
        """Features switched on or off: ``("+avx2", "-avx512f")``."""
        return self.options.get("mattr", ())

    @property
    def available_features(self) -> frozenset[str]:
        """Features that code for this target may use, by LLVM's names, as far as they are known here."""
        known = self.processor.features if self.cpu or self.triple else host_facts.features()
        named = {word[1:] for word in self.features if word.startswith("+")}
        return frozenset(known) | named - {word[1:] for word in self.features if word.startswith("-")}

    @property
    def is_host(self) -> bool:
        """True when the code is for the very machine that compiles it."""
        return self.kind == "llvm" and not self.cpu and not self.triple and not self.features

    @property
    def architecture(self) -> str:
        """The architecture part of the triple."""
        if not self.triple:
            known = PROCESSORS.get(self.cpu)
            return known.architecture if known else host_facts.architecture()
        name = self.triple.split("-", 1)[0].lower()
        return ARCHITECTURE_ALIASES.get(name, name)

    @property
    def processor(self) -> Processor:
        """The capabilities of the named processor, of the host, or of the architecture's baseline."""
        if self.cpu in PROCESSORS:
            return PROCESSORS[self.cpu]
        if not self.cpu and not self.triple:
            return host_facts.processor()
        return BASELINES.get(self.architecture, BASELINES["wasm32"])

    @property
    def lanes(self) -> int:
        """float32 elements in one vector register: 4, 8 or 16."""
        if "vector-width" in self.options:
            return max(1, self.options["vector-width"] // 32)
        lanes = self.processor.lanes
        if "-avx512f" in self.features:
            lanes = min(lanes, 8)
        elif "+avx512f" in self.features:
            lanes = 16
        elif "+avx2" in self.features:
            lanes = max(lanes, 8)
        return min(lanes, 4) if "-avx2" in self.features or "-avx" in self.features else lanes

    @property
    def dot_dtypes(self) -> tuple[str, str] | None:
        """Dtypes of the bytes of which one instruction adds four products to each int32 of a vector: (data, weight).

        None: the target has no such instruction, or not for vectors of `lanes`.
        """
        has, lanes = self.available_features, self.lanes
        if self.architecture == "x86_64":
            fits = lanes == 16 and "avx512vnni" in has
            return ("uint8", "int8") if fits or (lanes == 8 and "avxvnni" in has) else None
        return ("int8", "int8") if self.architecture == "aarch64" and lanes == 4 and "dotprod" in has else None

    @property
    def vector_registers(self) -> int:
        return 32 if self.lanes == 16 else self.processor.vector_registers if self.processor.lanes == self.lanes else 16

    @property
    def caches(self) -> tuple[int, ...]:
        """Data cache sizes in bytes, L1 first."""
        sizes = self.processor.caches
        named = [self.options.get(f"l{level}-cache") for level in (1, 2, 3)]
        return tuple(
            value
            for level in range(3)
            if (value := named[level] or (sizes[level] if level < len(sizes) else None)) is not None
        )

    @property
    def cache_levels(self) -> tuple[CacheLevel, ...]:
        """The data caches with their ways and lines, L1 first."""
        host = host_facts.cache_shapes() if not self.cpu and not self.triple else ()
        ways = PROCESSOR_WAYS.get(self.cpu) or tuple(way for way, _ in host) or WAYS
        return organised(self.caches, ways, host[0][1] if host else 64)

    @property
    def nominal(self) -> Nominal:
        """What one core can do at its best with vectors of `lanes`, from data sheets."""
        return NOMINAL.get(self._listed_as, Nominal()).of_lanes(self.lanes, self.processor.lanes)

    @property
    def clock_is_assumed(self) -> bool:
        """Whether the processor is not listed, so that its clock is an ordinary one."""
        return self._listed_as not in NOMINAL

    @property
    def _listed_as(self) -> str:
        return self.cpu if self.cpu or self.triple else host_facts.known_as()

    def nominal_flops(self, bits: int = 32) -> float:
        """Nominal floating-point operations a second of one core, on numbers of `bits` bits."""
        return self.nominal.clock * 1e9 * self.nominal.fma_units * 2 * max(1, self.lanes * 32 // bits)

    @property
    def threads(self) -> int:
        """Threads that kernels may count on: -num-cores, else what this process may use."""
        return self.options.get("num-cores") or host_facts.usable_threads()

    num_cores = threads

    @property
    def scopes(self) -> tuple[str, ...]:
        """Memory scopes that buffers may have."""
        return self._kind.scopes

    @property
    def thread_axes(self) -> tuple[str, ...]:
        """Thread axes that loops may be bound to (none on a CPU)."""
        return self._kind.threads

    @property
    def keys(self) -> tuple[str, ...]:
        """Classic API: words that describe the target, most specific first."""
        return tuple(dict.fromkeys((*self.options.get("keys", ()), *self._kind.keys)))

    @property
    def attrs(self) -> dict[str, Any]:
        """Classic API: the options as a dict."""
        return dict(self.options)

    @property
    def model(self) -> str:
        return self.options.get("model", "unknown")

    @property
    def mcpu(self) -> str:
        return self.cpu

    @property
    def mattr(self) -> list[str]:
        return list(self.features)

    @property
    def libs(self) -> list[str]:
        return list(self.options.get("libs", ()))

    @property
    def max_num_threads(self) -> int:
        """Threads in one block of a GPU target; on a CPU 1."""
        return self.options.get("max_num_threads", 1024 if self.thread_axes else 1)

    @property
    def thread_warp_size(self) -> int:
        return self.options.get("thread_warp_size", 32 if self.thread_axes else 1)

    def get_target_device_type(self) -> int:
        """The DLPack device type that the code runs on."""
        return self._kind.device_type

    # --- forms ---

    def with_host(self, host: Any) -> Target:
        """This target with another host target."""
        return Target({"kind": str(self.kind), **self.options}, host=host)

    def export(self) -> dict[str, Any]:
        """The target as JSON-able data, which `Target` reads back."""
        data: dict[str, Any] = {"kind": str(self.kind)}
        data.update({name: list(value) if isinstance(value, tuple) else value for name, value in self.options.items()})
        if self.host is not None:
            data["host"] = self.host.export()
        return data

    def __str__(self) -> str:
        words = [str(self.kind)]
        for name, value in self.options.items():
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            words.append(f"-{name}={shlex.quote(text)}")
        if self.host is not None:
            words.append(f"-host={shlex.quote(str(self.host))}")
        return " ".join(words)

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Target, (str(self),))

    def __copy__(self) -> Target:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Target:
        return self

    # --- the ambient target ---

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target entered with `with`.  Raises when there is none and `allow_none` is false."""
        entered = _entered.get()
        found = entered[-1] if entered else None
        if found is None and not allow_none:
            raise WorkbenchError("E-TARGET-NONE", "no target is set", fix='use `with Target("llvm"):` or pass target=')
        return found

    def __enter__(self) -> Target:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.set(_entered.get()[:-1])

    @staticmethod
    def list_kinds() -> list[str]:
        return sorted(KINDS)


def tag_names() -> list[str]:
    """The tags that stand for whole targets."""
    return sorted(TAGS)


# --- parsing ------------------------------------------------------------------------------------------------------


def _parse(target: Any) -> tuple[str, dict[str, Any], Any]:
    """Kind, options (checked and converted) and host of anything that names a target."""
    if isinstance(target, Target):
        return str(target.kind), dict(target.options), target.host
    if isinstance(target, Mapping):
        return _checked(dict(target))
    if not isinstance(target, str) or not target.strip():
        raise WorkbenchError(
            "E-TARGET-FORM",
            "a target is text, a dict or a Target",
            found=repr(target)[:80],
            fix='write for example "llvm"',
        )
    text = target.strip()
    if text.startswith("{"):
        return _checked(_from_json(text))
    if text in TAGS:
        text = TAGS[text]
    return _checked(_from_words(text))


def _from_json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise WorkbenchError("E-TARGET-JSON", f"the target is not valid JSON: {error}", found=text[:80]) from None
    return data


def _from_words(text: str) -> dict[str, Any]:
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"{len(text):,} characters, at most {_LONGEST:,}")
        words = shlex.split(text)
    except ValueError as error:
        raise WorkbenchError("E-TARGET-FORM", f"the target's text cannot be read: {error}", found=text[:80]) from None
    data: dict[str, Any] = {"kind": words[0]}
    position = 1
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("-"):
            raise WorkbenchError(
                "E-TARGET-OPTION", f"{word!r} is not an option", found=text[:80], fix="options read -name=value"
            )
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            value = words[position] if position < len(words) else ""
            position += 1
        data[name] = value
    return data


def _checked(data: dict[str, Any]) -> tuple[str, dict[str, Any], Any]:
    kind_name = data.pop("kind", None)
    if kind_name is None and data.get("tag") in TAGS:
        base = _from_words(TAGS[data["tag"]])
        data = base | data
        kind_name = data.pop("kind")
    kind = KINDS.get(str(kind_name))
    if kind is None:
        raise WorkbenchError(
            "E-TARGET-KIND",
            f"there is no target kind {kind_name!r}",
            expected=", ".join(KINDS),
            fix=nearest(str(kind_name), [*KINDS, *TAGS]),
        )
    host = data.pop("host", None)
    data.pop("tag", None)
    options = {name: value for key, raw in data.items() if (value := _option(kind, name := key, raw)) is not None}
    return kind.name, options, host or None


def _option(kind: Kind, name: str, raw: Any) -> Any:
    known = (*kind.options, *COMMON_OPTIONS)
    if name not in known:
        raise WorkbenchError(
            "E-TARGET-OPTION",
            f"{kind.name} has no option -{name}",
            found=f"-{name}={raw}"[:80],
            expected=", ".join(known),
            fix=nearest(name, known),
        )
    if name in INTEGER_OPTIONS:
        return _whole(name, raw)
    if name in LIST_OPTIONS:
        words = raw.split(",") if isinstance(raw, str) else list(raw)
        return tuple(str(word).strip() for word in words if str(word).strip()) or None
    return str(raw)


def _whole(name: str, raw: Any) -> int:
    try:
        value = int(raw)
    except (TypeError, ValueError):
        value = -1
    least, most = _BOUNDS.get(name, (0, 2**63 - 1))
    if not least <= value <= most:
        raise WorkbenchError(
            "E-TARGET-VALUE",
            f"-{name} takes a whole number in its bounds",
            where=f"the option -{name} of a target",
            found=repr(raw)[:80],
            expected=f"{least} to {most:,}" if most < 2**63 - 1 else f"{least} or more",
        )
    return value


def target_of_function(attrs: Mapping[str, Any]) -> Target | None:
    """The attribute "target" of a function.  Raises `WorkbenchError` (E-TARGET-ATTRIBUTE) for what is no target."""
    said = attrs.get("target")
    if said is not None and not isinstance(said, Target):
        raise WorkbenchError(
            "E-TARGET-ATTRIBUTE", "the attribute 'target' of a function is a target", found=repr(said)[:80],
            expected='T.target("llvm") in a script, Target("llvm") in Python', fix="write it so, or leave it out",
        )  # fmt: skip
    return said


def as_target(target: Any) -> Target:
    """A target given as text or value; without one the ambient target, else the host."""
    return Target(target) if target is not None else Target.current() or Target("llvm")


def llvm(options: str = "") -> Target:
    """The CPU target with these options: ``llvm("-mcpu=znver5")``."""
    return Target(f"llvm {options}".strip())


def cuda(model: str = "", arch: str = "") -> Target:
    """The CUDA target; `arch` as in "sm_90"."""
    return Target({"kind": "cuda", **({"model": model} if model else {}), **({"arch": arch} if arch else {})})

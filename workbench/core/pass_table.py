"""The passes that there are, by name: the workbench's, the users', and the classic ones that this compiler has not.

    PASSES["FuseOps"]                                        # a factory that takes the pass's options
    users_passes("Mine")                                     # all that are held, the latest last
    pass_names(["FuseOps"], "PassContext(disabled_pass=...)")
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Final

from .arguments import items
from .errors import WorkbenchError, nearest
from .table import Table

PASSES: Table[Any] = Table(
    "pass",
    filled_by=(
        "workbench.core.print_ir", "workbench.relay.transforms.all_passes", "workbench.tir.transforms.all_passes",
    ),
)  # fmt: skip
"""Every pass by name: a factory that takes the pass's options."""
_users: dict[str, list[weakref.ref[Any]]] = {}
"""The users' passes by name, as long as anybody holds them: several may have one name, or a built-in one's."""
CLASSIC: Final = frozenset(
    """
    AnnotateMemoryScope AnnotateSpans AnnotateTarget AnnotateUsedMemory AutoSchedulerLayoutRewrite
    CapturePostDfsIndexInSpans CollagePartition CombineParallelOpBatch Conv2dToSparse Conv2dToSparse2
    Defunctionalization DenseToSparse FakeQuantizationToInteger FirstOrderGradient FlattenNestedTuples
    InlineCompilerFunctionsBoundTo LabelOps LazyGradientInit Legalize LowerTE LowerTensorExpr ManifestAlloc
    ManifestLifetimes MarkCompilerFunctionsAsExtern MergeCompilerRegions MergeComposite MetaScheduleLayoutRewrite
    OutlineCompilerFunctionsWithExistingGlobalSymbols PartialEvaluate PartitionGraph PlanDevices
    RemoveStandaloneReshapes SplitArgs ToCPS UnCPS qnn.Legalize
    """.split()
)
"""Passes of the classic pipeline that this compiler has not: to disable one is to say nothing."""


def note_users_pass(name: str, entry: Any) -> None:
    """Remember a pass of a user's, or a factory of passes, while it is held."""
    held = [known for known in _users.get(name, ()) if known() is not None]
    _users[name] = [*held, weakref.ref(entry)]


def users_passes(name: str) -> list[Any]:
    """The passes (or factories of passes) of a name that users have defined and hold, the latest last."""
    return [entry for known in _users.get(name, ()) if (entry := known()) is not None]


def pass_names(
    given: Any, where: str, allowed: Iterable[str] = (), code: str = "E-PASS-CONFIG"
) -> tuple[str, ...]:
    """Names of passes, as a list of them was given.  Raises `WorkbenchError` for what is none, and for unknown names.

    `allowed` names need not be of a pass that there is; `code` is that of the error for what is no list of names.
    """
    named = items(given, where, code, '["FuseOps"]')
    for name in named:
        if not isinstance(name, str):
            raise WorkbenchError(
                code, "a pass is given by its name", where=where, found=repr(name)[:80],
                expected='a list of texts: ["FuseOps"]',
            )  # fmt: skip
        if name not in PASSES and not users_passes(name) and name not in allowed:
            raise WorkbenchError(
                "E-PASS-UNKNOWN", f"there is no pass named {name!r}", where=where,
                fix=nearest(name, {*PASSES, *allowed}) or "a pass of your own is defined before it is named",
            )  # fmt: skip
    return named

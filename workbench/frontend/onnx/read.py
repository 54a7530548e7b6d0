"""Bytes to a model: whatever the file turns out to be, it is either an ONNX model or named for what it is.

Nothing of the model is trusted here but its encoding; `check` looks at what it says.

    source = read_model("model.onnx")
    source.proto.graph, source.name, source.folder
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...core.errors import WorkbenchError, shorten
from ...core.limits import limits
from ...core.whole_import import import_whole
from . import wire
from .limits import FILE_BYTES
from .skeleton import read_range, skeleton
from .stored import FROM_FILE_BYTES, OpenFile
from .tensors import Deferred
from .texts import with_texts

_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True)
class Source:
    """A parsed model and where it came from; `folder` is None for models given as bytes or as objects."""

    proto: Any
    name: str
    folder: Path | None
    deferred: Deferred = field(default_factory=lambda: Deferred(-1, {}))
    """Weights that were left in the file."""

    size: int = 0
    """Bytes of the file; 0 for objects."""

    def close(self) -> None:
        """Close the file that weights are read from."""
        if self.deferred.descriptor >= 0:
            os.close(self.deferred.descriptor)


def name_of(model: Any) -> str:
    """What a model is called in messages: its file's name, else "model"."""
    return Path(os.fspath(model)).name if isinstance(model, (str, os.PathLike)) else "model"


def read_model(model: Any) -> Source:
    """Read a path, bytes, or an `onnx.ModelProto`.  Raises `WorkbenchError` naming what was found instead."""
    onnx = import_whole("onnx")
    if isinstance(model, onnx.ModelProto):
        model = with_texts(_with_graph(model, "model"), own=False)
        return Source(model, model.graph.name or "model", None)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source(_parse(bytes(model), "model"), "model", None, size=len(model))
    if isinstance(model, (str, os.PathLike)):
        return _read_file(Path(os.fspath(model)))
    raise WorkbenchError(
        "E-IMPORT-SOURCE",
        "this is not an ONNX model",
        found=type(model).__name__,
        expected="a path, bytes, or an onnx.ModelProto",
        fix="from_onnx(onnx.load(path)) or from_onnx(path)",
    )


def _read_file(path: Path) -> Source:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise WorkbenchError(
            "E-IMPORT-FILE",
            f"{path.name}: the model cannot be opened",
            found=str(reason),
            expected="a file that can be read",
            fix="check the path",
        ) from None
    kept = False
    try:
        size = _require_plain(descriptor, path.name)
        found = skeleton(descriptor, size)
        if found is None:
            whole = _parse(read_range(descriptor, 0, size).tobytes(), path.name)
            return Source(whole, path.name, path.parent, size=size)
        lasting = OpenFile(descriptor, path.name) if size >= FROM_FILE_BYTES else None
        deferred = Deferred(descriptor, found.deferred, lasting)
        source = Source(_parse(found.data, path.name), path.name, path.parent, deferred, size)
        kept = True
        return source
    finally:
        if not kept:
            os.close(descriptor)


def _require_plain(descriptor: int, name: str) -> int:
    """The size of a regular file that is not too large.  Raises `WorkbenchError` for others."""
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise WorkbenchError(
            "E-IMPORT-FILE",
            f"{name} is not a plain file",
            found=_KINDS.get(stat.S_IFMT(facts.st_mode), "something else"),
            expected="an .onnx file",
            fix="give the file's path",
        )
    if facts.st_size > FILE_BYTES:
        raise WorkbenchError(
            "E-IMPORT-SIZE",
            f"{name} is too large",
            found=f"{facts.st_size} bytes",
            expected=f"at most {FILE_BYTES} bytes",
            fix="keep weights in external data",
        )
    return facts.st_size


def _parse(data: bytes, name: str) -> Any:
    import onnx

    kind = wire.kind_of(data)
    if not data or kind:
        raise _not_onnx(name, kind or "an empty file: 0 bytes", wire.FIXES.get(kind, "give the path of an .onnx file"))
    try:
        proto = onnx.ModelProto.FromString(data)
    except Exception as error:  # protobuf's error class moves between its versions
        raise _broken(data, name, error) from None
    return with_texts(_with_graph(proto, name), own=True)


def _with_graph(proto: Any, name: str) -> Any:
    if proto.HasField("graph"):
        return proto
    if proto.ir_version <= 0 and not len(proto.opset_import):
        raise _not_onnx(name, "something else", "give the path of an .onnx file")
    raise WorkbenchError(
        "E-IMPORT-NO-GRAPH",
        f"{name}: the model has no graph",
        where=f"{name}: ModelProto",
        found="a header without a graph",
        expected="ModelProto.graph",
        fix="export it again",
    )


def _not_onnx(name: str, found: str, fix: str) -> WorkbenchError:
    return WorkbenchError(
        "E-IMPORT-NOT-ONNX",
        f"{name} is not an ONNX file",
        where=f"{name}: byte 0",
        found=found,
        expected="an ONNX model (protobuf)",
        fix=fix,
    )


def _broken(data: bytes, name: str, error: Exception) -> WorkbenchError:
    cut = wire.early_end(data)
    if cut is not None:
        at, claimed = cut
        return WorkbenchError(
            "E-IMPORT-TRUNCATED",
            f"{name} ends early, at byte {len(data)} of at least {at + claimed}",
            where=f"{name}: byte {at}",
            found=f"{len(data)} bytes; the part that starts at byte {at} claims {claimed} bytes",
            expected="the whole file",
            fix="fetch the file again",
        )
    nested = wire.depth(data)
    if nested > 30:
        return WorkbenchError(
            "E-IMPORT-NESTING",
            f"{name}: graphs nest too deeply",
            where=f"{name}: ModelProto.graph",
            found=f"at least {nested} graphs inside each other",
            expected=f"at most {limits.nesting} (wb.limits.nesting; protobuf itself stops at about 33)",
            fix="export the model without such nesting",
        )
    return _not_onnx(
        name, f"bytes that do not decode ({shorten(str(error).split(': ')[-1], 80)})", "fetch the file again"
    )

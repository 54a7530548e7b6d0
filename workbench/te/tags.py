"""`tag_scope`: a tag for all stages made inside a ``with``.

with tag_scope("injective"):
    B = compute(A.shape, lambda i: A[i] + 1.0)      # B.op.tag == "injective"
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ..core.errors import WorkbenchError

_current: ContextVar[str] = ContextVar("workbench_te_tag", default="")


@contextmanager
def tag_scope(tag: str) -> Generator[str, None, None]:
    """Stages made inside carry `tag`; scopes do not nest (E-TE-TAG), and a stage has no other tag of its own."""
    if _current.get():
        raise WorkbenchError(
            "E-TE-TAG", "tag scopes do not nest", found=f"{tag} inside {_current.get()}", fix="leave the outer one"
        )
    token = _current.set(tag)
    try:
        yield tag
    finally:
        _current.reset(token)


def tag_or_current(tag: str) -> str:
    """The tag of a stage: its own, or that of the scope around it."""
    current = _current.get()
    if tag and current:
        raise WorkbenchError(
            "E-TE-TAG", "a stage inside a tag scope has no tag of its own", found=f"{tag} inside {current}",
            fix="leave out tag=",
        )  # fmt: skip
    return tag or current

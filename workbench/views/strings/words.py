"""Texts of what names stand for in the text of a layer."""

from __future__ import annotations


class Words:
    """See the module's header."""

    def loop(self, kind: str, extent: str) -> str:
        """`kind` as the text writes it."""
        adjective = {"parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled"}.get(kind, "serial")
        return f"{adjective} loop of {extent} iterations, int32"

    def buffer(self, shape: str, dtype: str) -> str:
        return f"buffer {shape} of {dtype}"

    def buffer_in(self, shape: str, dtype: str, scope: str) -> str:
        return f"buffer {shape} of {dtype}, in {scope}"

    def parameter(self, shape: str, dtype: str) -> str:
        return f"buffer {shape} of {dtype}, a parameter"

    def axis(self, spatial: bool) -> str:
        return "spatial axis, int32" if spatial else "reduction axis, int32"

    def axis_of(self, spatial: bool, extent: str) -> str:
        return f"spatial axis of {extent}, int32" if spatial else f"reduction axis of {extent}, int32"

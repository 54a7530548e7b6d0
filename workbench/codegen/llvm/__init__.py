"""The llvm backend: loop functions to native code through LLVM IR written as text.

backend.compile_module(IRModule({"add": func}), Target("llvm")).link()
"""

from .backend import Artefact, backend

__all__ = ["Artefact", "backend"]

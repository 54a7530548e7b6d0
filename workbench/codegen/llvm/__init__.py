"""The llvm backend: loop functions to native code through LLVM IR written as text.

    from workbench.codegen.llvm.backend import backend
    backend.compile_module(IRModule({"add": func}), Target("llvm")).link()

Nothing is imported here: processes that only compile text (`service`) start without the rest of the compiler.
"""

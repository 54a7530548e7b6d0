"""PrintIR: a pass that prints the module as it stands between two others, and changes nothing."""

from __future__ import annotations

from .module import IRModule
from .transform import PassContext, module_pass


@module_pass(opt_level=0, name="PrintIR")
def PrintIR(mod: IRModule, ctx: PassContext, *, header: str = "", show_meta_data: bool = False) -> IRModule:
    """Print the module's classic text below a line with `header`."""
    print(f"# PrintIR({header})\n{mod.astext(show_meta_data=show_meta_data)}")
    return mod

"""Lines of the loop program for instructions of an assembly text, where LLVM says nothing or another line."""

from __future__ import annotations

from workbench.codegen.llvm.assembly_lines import read_assembly

LOADED_EARLY = """f:
\t.loc\t1 1 0 prologue_end
\t.loc\t1 7 1
\tmovq\t%rax, 8(%rsp)
\tvbroadcastss\t.LCPI0_0(%rip), %zmm0
\tmovq\t%rcx, 16(%rsp)
\t.loc\t1 9 5
\tvmulps\t(%rsp,%rax), %zmm0, %zmm2
"""


def test_a_constant_among_instructions_of_another_line_is_of_its_user() -> None:
    spots = read_assembly(LOADED_EARLY, LOADED_EARLY, {"f": {7: ((5, 1),), 9: ((8, 1),)}})
    assert [(spot.text_line, spot.line) for spot in spots] == [(4, 7), (5, 9), (6, 7), (8, 9)]
    assert spots[1].loops == ((8, 1),)

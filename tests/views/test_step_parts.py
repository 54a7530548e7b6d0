"""How large a program is, for the list of steps."""

from __future__ import annotations

from tests.driver.programs import small_session
from workbench.views.pipeline import SessionModel
from workbench.views.step_parts import function_count, operation_count


def test_fusing_makes_no_operators_and_its_functions_are_counted_apart() -> None:
    """The calls of functions counted as operators: 144 operators became 196 when they were fused."""
    step = small_session()["FuseOps"].step
    assert step.previous is not None
    before, after = step.previous.stage.module, step.stage.module
    assert operation_count(before) == operation_count(after) == 12
    assert (function_count(before), function_count(after)) == (0, 7)


def test_the_row_of_a_step_says_in_how_many_functions_its_operators_are() -> None:
    rows = {row.name: row for row in SessionModel(small_session()).view().steps}
    assert (rows["FuseOps"].functions, rows["SimplifyInference"].functions, rows["Lower"].functions) == (7, 0, 0)
    assert rows["FuseOps"].ops_before == rows["FuseOps"].ops_after == 12

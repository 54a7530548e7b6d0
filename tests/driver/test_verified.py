"""The verifiers' word on the program after each step."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.driver.bugs import broken
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.core.module import IRModule
from workbench.core.node import map_children
from workbench.relay.ir import expr as r


def test_every_step_of_a_model_and_of_a_loop_program_is_well_formed() -> None:
    for session in (small_session(), wb.open(plain_matmul())):
        for label in session.labels:
            found = session[label].verify()
            assert found and found.functions == len(session[label].after), (label, str(found))
    assert str(found) == "well-formed: 1 function"


def unbound(before: IRModule, after: IRModule) -> IRModule:
    """The first variable that is read becomes one that nobody binds."""

    def change(node: Any) -> Any:
        return r.Var("nowhere", node.type_annotation) if isinstance(node, r.Var) else map_children(node, change)

    main: Any = after["main"]
    return after.with_functions({"main": main.replace(body=change(main.body))})


def test_a_pass_that_loses_a_binding_is_named_with_the_law_it_broke() -> None:
    session = small_session().rerun(insert={"FuseOps": broken("DeadCodeElimination", unbound)})
    label = session.labels[session.labels.index("FuseOps") + 1]
    found = session[label].verify()
    assert not found
    first = next(one for one in found.problems if one.check == "in-scope")
    assert first.function == "main" and "nowhere" in first.message
    assert str(found).startswith("main: ")
    assert session["FuseOps"].verify()

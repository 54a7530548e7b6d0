"""One run of a model, call by call: times, and the parts of the model that the calls carry out."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.core.errors import WorkbenchError
from workbench.driver.given_inputs import drawn_inputs


def test_each_call_of_the_entry_has_its_time_and_its_classes() -> None:
    session = small_session()
    inputs = drawn_inputs(session.history.step(session.actions, 0).stage.module)
    found = session.profile(inputs)
    links = session.provenance.links
    assert [call.kernel for call in found.calls] == [site.kernel for site in links.sites]
    assert [call.classes for call in found.calls] == [tuple(sorted(links.at(site.number))) for site in links.sites]
    assert all(call.seconds > 0 and call.classes for call in found.calls) and 1 <= found.runs <= 10
    assert found.seconds == sum(call.seconds for call in found.calls)
    assert found.calls[-1].gives.startswith("float32[")


def test_a_loop_program_has_no_calls() -> None:
    with pytest.raises(WorkbenchError, match="one kernel") as caught:
        wb.open(plain_matmul()).profile({})
    assert caught.value.code == "E-RUN-CALLS"


def test_what_is_no_input_is_refused() -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().profile([1, 2])  # type: ignore[arg-type]
    assert caught.value.code == "E-RUN-INPUT"

"""What JupyterLab's side panel asks the kernel for: variables that hold sessions, schedules and screens."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.driver.programs import small_session
from workbench.ui.named import named
from workbench.ui.workbench import Workbench


def listed(**variables: Any) -> list[dict[str, str]]:
    said = named(variables)
    assert repr(said).strip("'") == said, "the repr holds nothing that is escaped"
    return json.loads(base64.b64decode(said))


def test_sessions_schedules_and_screens_are_named_in_order() -> None:
    session = small_session()
    schedule = session.schedule(next(iter(session.kernels)))
    found = listed(x=1, s=session, _hidden=session, sch=schedule, screen=Workbench(session))
    assert [(one["name"], one["kind"]) for one in found] == [
        ("s", "session"), ("sch", "schedule"), ("screen.session", "screen"),
    ]  # fmt: skip
    assert found[0]["told"] == f"{len(session)} steps"


def test_nothing_is_found_where_nothing_is() -> None:
    assert listed(a="<b>", b=[1]) == []


def test_a_namespace_of_thousands_is_cut() -> None:
    session = small_session()
    assert len(listed(**{f"s{number}": session for number in range(1000)})) == 200


class Standing:
    """An object that stands for another, as flask's `request`: outside of a request it has no class to tell."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("Working outside of request context.")


def test_a_variable_that_refuses_to_say_what_it_is_hides_no_other() -> None:
    session = small_session()
    found = listed(before=session, request=Standing(), after=session)
    assert [one["name"] for one in found] == ["before", "after"]

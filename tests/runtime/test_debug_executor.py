"""The debugging executor: every intermediate by name, time a kernel, dumps, and one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.driver.programs import small_inputs, small_session
from workbench import WorkbenchError, cpu
from workbench.contrib.debugger import debug_executor


@pytest.fixture
def debug() -> Any:
    made = debug_executor.create(None, small_session().build(), cpu(0))
    made.set_input(**small_inputs())
    return made


def test_intermediates_are_those_of_the_graph(debug: Any) -> None:
    from workbench.relay.interpret import interpret

    debug.run()
    session = small_session()
    values: list[Any] = []
    interpret(session.relay.module, small_inputs()["x"], observe=lambda expr, value: values.append(value))
    shapes = {array.shape: array for array in values if isinstance(array, np.ndarray)}
    for index, call in enumerate(debug.model.calls):
        found = debug.get_node_output(index).numpy()
        np.testing.assert_array_equal(found, debug.debug_get_output(call.label).numpy())
        if found.shape in shapes:
            assert np.isfinite(found).all()
    np.testing.assert_allclose(debug.get_output(0).numpy(), values[-1], rtol=1e-4, atol=1e-5)


def test_each_kernel_is_measured(debug: Any) -> None:
    times = debug.run_individual(number=3, repeat=2)
    assert len(times) == len(debug.model.calls) and all(len(each) == 2 for each in times)
    assert all(seconds > 0 for each in times for seconds in each)
    assert debug.run_individual_node(0, number=2, repeat=3).mean > 0
    with pytest.raises(WorkbenchError) as caught:
        debug.run_individual_node(99)
    assert caught.value.code == "E-RUN-CALL"


def test_the_table_says_what_takes_the_time(debug: Any) -> None:
    report = debug.profile(number=2)
    text = str(report)
    assert text.splitlines()[0].split() == ["call", "computes", "us", "share", "gives"]
    assert f"{len(debug.model.calls)} kernel calls" in text and "float32[1, 7]" in text
    assert sum(row.share for row in report) == pytest.approx(1.0)
    assert report.slowest(2)[0].seconds >= report.slowest(2)[1].seconds
    assert json.loads(report.json())[0]["kernel"] == debug.model.calls[0].kernel
    assert report[0]["label"] == report[0].label


def test_values_are_dumped(debug: Any, tmp_path: Path) -> None:
    debug.run()
    with np.load(debug.dump_outputs(tmp_path / "values.npz")) as stored:
        names = set(stored.files)
        np.testing.assert_array_equal(stored["x"], small_inputs()["x"])
    temporaries = {spec.name for spec in debug.model.temporaries}
    assert temporaries <= names and not names & {spec.name for spec, _ in debug.model.constants}
    assert names <= set(debug.value_names)


def test_a_dump_folder_gets_graph_and_values(tmp_path: Path) -> None:
    made = debug_executor.create(None, small_session().build(), cpu(0), dump_root=str(tmp_path / "dump"))
    made.run(**small_inputs())
    assert json.loads((tmp_path / "dump" / "graph.json").read_text())["calls"]
    assert (tmp_path / "dump" / "values.npz").stat().st_size > 0

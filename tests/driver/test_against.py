"""The same run by onnxruntime beside ours: what belongs together, the table, threads passed through, refusals."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session, wide_inputs, wide_model
from tests.schedule.programs import plain_matmul
from workbench.core.child import Answer, ChildFailure
from workbench.core.errors import WorkbenchError
from workbench.driver import against as module
from workbench.driver import commands
from workbench.driver.against import Against, OwnCall, PeerCall, grouped, own_nodes, without_cost
from workbench.driver.session import Session
from workbench.frontend.onnx import peer_service
from workbench.runtime.threads import num_threads
from workbench.views.against import against_html

LABELS = [f"Conv#{number} ('n{number}')" for number in range(8)]


def own(kernel: str, *nodes: int, seconds: float = 1e-3) -> OwnCall:
    return OwnCall(kernel, frozenset(nodes), seconds)


def theirs(name: str, *nodes: int, seconds: float = 1e-3) -> PeerCall:
    return PeerCall(name, frozenset(nodes), seconds)


def compared(ours: list[OwnCall], peers: list[PeerCall]) -> Against:
    rows, own_alone, peer_alone = grouped(ours, peers, LABELS)
    return Against(rows, 4e-3, 2e-3, 1, 3, "onnxruntime 1.2.3", own_alone, peer_alone, 0.0, 0.0)


# --- groups -------------------------------------------------------------------------------------------------------


def test_calls_that_share_nodes_are_one_group_however_indirectly() -> None:
    found = compared(
        [own("a", 0, 1), own("b", 2), own("c", 3, seconds=5e-3)],
        [theirs("Conv", 0), theirs("Fused", 1, 2), theirs("Relu", 3)],
    )
    assert [(row.kernels, row.peers) for row in found.rows] == [(("c",), ("Relu",)), (("a", "b"), ("Conv", "Fused"))]
    assert found.rows[1].nodes == tuple(LABELS[:3])
    assert (found.rows[1].ours, found.rows[1].theirs) == (2e-3, 2e-3)


def test_the_largest_loss_is_first_and_shares_are_of_all_differences() -> None:
    found = compared(
        [own("even", 0), own("slow", 1, seconds=4e-3), own("fast", 2, seconds=1e-3)],
        [theirs("A", 0), theirs("B", 1, seconds=1e-3), theirs("C", 2, seconds=2e-3)],
    )
    assert [row.kernels for row in found.rows] == [("slow",), ("even",), ("fast",)]
    assert [round(found.share(row), 3) for row in found.rows] == [0.75, 0.0, -0.25]
    assert [row.ratio for row in found.rows] == [4.0, 1.0, 0.5]


def test_what_one_side_alone_does_has_no_ratio_and_what_is_not_mapped_is_told() -> None:
    found = compared([own("a", 0), own("copied")], [theirs("Shape", 4), theirs("Reorder"), theirs("Conv", 0)])
    assert {row.kernels: row.ratio for row in found.rows} == {("a",): 1.0, (): None}
    assert [call.kernel for call in found.own_alone] == ["copied"]
    assert [call.name for call in found.peer_alone] == ["Reorder"]
    assert (found.kernels, found.peer_kernels) == (2e-3, 3e-3)
    text = str(found)
    assert "no nodes of the file are known for 1 call of ours, 1.000 ms: copied" in text, text
    assert "no nodes of the file are known for 1 call of onnxruntime 1.2.3, 1.000 ms: Reorder" in text, text


def test_each_call_is_told_without_what_taking_its_time_costs() -> None:
    calls, cost = without_cost([[5.0, 9.0], [3.0, 4.0], [0.6, 0.7]], [6.5, 8.0])
    assert cost == pytest.approx((8.6 - 6.5) / 3)
    assert calls == pytest.approx([5 - cost, 3 - cost, 0.06]), "no call is told for nothing"
    assert without_cost([[1.0]], [2.0]) == ([1.0], 0.0)
    assert without_cost([], [2.0]) == ([], 0.0)


# --- told ---------------------------------------------------------------------------------------------------------


def test_the_table(golden) -> None:
    found = compared(
        [own("fused_conv2d", 0, 1, 2, 3, seconds=3e-3), own("fused_pool", 5), own("copied")],
        [theirs("Conv", 0), theirs("FusedConv", 1, 2, 3), theirs("Pool", 5, seconds=2e-3), theirs("Shape", 7)],
    )
    golden(str(found))
    golden(found._repr_mimebundle_()["text/html"], suffix=".html")


def test_the_html_is_well_formed_and_bounded_whatever_nodes_are_called() -> None:
    hostile = "<script>&\"'\x00]]>" * 40
    rows, *_ = grouped([own(hostile, 0)] * 100, [theirs(hostile, 0)], [hostile])
    html = against_html(Against(rows * 60, 1.0, 1.0, 2, 1, hostile, (), (), 0.0, 0.0))
    ElementTree.fromstring(html)
    assert "<script" not in html and len(html) < 400_000


def test_the_comparison_as_plain_data() -> None:
    found = compared([own("a", 0, seconds=2e-3), own("copied")], [theirs("Conv", 0), theirs("Shape", 4), theirs("Odd")])
    told = json.loads(json.dumps(found.to_json()))
    assert (told["peer"], told["threads"], told["rounds"], told["ratio"]) == ("onnxruntime 1.2.3", 1, 3, 2.0)
    assert told["rows"][0] == {
        "nodes": [LABELS[0]], "kernels": ["a"], "peers": ["Conv"], "ours": 2e-3, "theirs": 1e-3, "ratio": 2.0,
        "share": 0.5,
    }  # fmt: skip
    assert told["rows"][1]["ratio"] is None and told["rows"][1]["share"] == -0.5
    assert (told["own_alone"], told["peer_alone"]) == (
        [{"kernel": "copied", "seconds": 1e-3}], [{"name": "Odd", "seconds": 1e-3}]
    )  # fmt: skip


# --- with a peer that is planted ----------------------------------------------------------------------------------


class Peer:
    """Answers for the child: one node a call, and what it was asked."""

    asked: list[tuple[str, Mapping[str, Any]]] = []

    def __init__(self, service: str, seconds: float) -> None:
        assert service == "workbench.frontend.onnx.peer_service" and seconds > 0

    def __enter__(self) -> Peer:
        Peer.asked = []
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask(self, do: str, header: Mapping[str, Any] | None = None, data: Any = ()) -> Answer:
        Peer.asked.append((do, {**(header or {}), "threads of ours": num_threads()}))
        nodes = [(node.op_type, node.name) for node in small_model().graph.node]
        calls = [
            {"name": f"n{number}", "operator": kind, "nodes": [number], "seconds": [9.0, 1e-3]}
            for number, (kind, _) in enumerate(nodes)
        ]
        answers = {"open": {"nodes": nodes, "version": "1.2.3"}, "run": {"seconds": 0.01}, "nodes": {"calls": calls}}
        return Answer(answers[do], [])


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> type[Peer]:
    monkeypatch.setattr(module, "Child", Peer)
    return Peer


def test_both_sides_run_on_the_same_threads_and_ours_has_its_own_again(planted: type[Peer]) -> None:
    before = num_threads()
    found = small_session().against(small_inputs(), threads=1, model=small_model())
    assert found.threads == 1 and num_threads() == before
    opened = planted.asked[0]
    assert opened[0] == "open" and opened[1]["threads"] == 1
    assert {one["threads of ours"] for _, one in planted.asked} == {1}
    assert small_session().against(small_inputs(), model=small_model()).threads == before
    assert planted.asked[0][1]["threads"] == before


def test_runs_alternate_and_the_first_of_each_is_not_counted(planted: type[Peer]) -> None:
    found = small_session().against(small_inputs(), model=small_model())
    runs = [one["profiled"] for do, one in planted.asked if do == "run"]
    assert runs == [False, True] * (found.rounds + 1) and found.rounds >= 3
    assert [do for do, _ in planted.asked if do != "run"] == ["open", "nodes"]
    assert found.theirs == 0.01 and found.rows[0].theirs < 1.0, "the first run of a call is left out"


def test_our_kernels_are_known_by_the_nodes_of_the_file() -> None:
    session = small_session()
    kinds = [node.op_type for node in small_model().graph.node]
    found = own_nodes(session, kinds)
    assert len(found) == len(session.provenance.links.sites)
    assert set().union(*found) == set(range(10)) - {7}, f"all but what only renames memory: {found}"
    assert found[0] >= {0, 2}, "the first convolution, with what was fused into it"


# --- refusals -----------------------------------------------------------------------------------------------------


def refused(session: Session, inputs: Any, **options: Any) -> WorkbenchError:
    with pytest.raises(WorkbenchError) as caught:
        session.against(inputs, **options)
    return caught.value


def test_without_onnxruntime_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    absent = lambda name, *rest: None if name == "onnxruntime" else find(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", absent)
    error = refused(small_session(), small_inputs())
    assert (error.code, error.fix) == ("E-AGAINST-PEER", "pip install onnxruntime")


def test_a_session_without_the_file_of_its_model_asks_for_it(planted: type[Peer], tmp_path: Path) -> None:
    session = small_session()
    error = refused(session, small_inputs())
    assert error.code == "E-AGAINST-MODEL" and "model=" in error.fix
    session.save(str(tmp_path / "saved.json"))
    assert refused(wb.open(str(tmp_path / "saved.json")), small_inputs()).code == "E-AGAINST-MODEL"
    assert refused(session, small_inputs(), model=tmp_path / "gone.onnx").found.endswith("gone.onnx")


def test_what_is_no_model_of_calls_is_refused(planted: type[Peer]) -> None:
    session = wb.open(plain_matmul(8, 8, 8))
    assert refused(session, {}).code == "E-AGAINST-MODEL"
    assert refused(session, {}, model=small_model()).code == "E-RUN-CALLS"


def test_the_model_of_another_session_is_refused(planted: type[Peer]) -> None:
    with pytest.raises(WorkbenchError) as caught:
        own_nodes(small_session(), ["Other"] * 10)
    assert caught.value.code == "E-AGAINST-MODEL"


def test_a_peer_that_ends_is_told_as_such(planted: type[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(self: Peer, *_: object) -> Answer:
        raise ChildFailure("crashed", "SIGSEGV")

    monkeypatch.setattr(Peer, "ask", ended)
    before = num_threads()
    error = refused(small_session(), small_inputs(), threads=1, model=small_model())
    assert error.code == "E-AGAINST-PEER" and "crashed" in error.message and error.found == "SIGSEGV"
    assert num_threads() == before


# --- what the peer writes -----------------------------------------------------------------------------------------


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made meanwhile, ours and those of children."""
    made = tmp_path / "scratch"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("TMPDIR", str(made))
    return made


ENDS = (KeyboardInterrupt(), ChildFailure("crashed", "SIGKILL"), WorkbenchError("E-AGAINST-PEER", "no"), None)


@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_nothing_of_what_it_writes_outlives_it_however_it_ends(
    end: BaseException | None, planted: type[Peer], monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    ask = Peer.ask

    def writing(self: Peer, do: str, header: Any = None, data: Any = ()) -> Answer:
        if do == "open":
            (Path(header["folder"]) / "optimized.onnx").write_bytes(b"all weights")
        if do == "run" and end is not None:
            raise end
        return ask(self, do, header, data)

    monkeypatch.setattr(Peer, "ask", writing)
    try:
        small_session().against(small_inputs(), model=small_model())
    except (KeyboardInterrupt, WorkbenchError):
        assert end is not None
    assert not [*scratch.glob("workbench-*")]


def test_nothing_stays_of_a_child_that_is_killed(monkeypatch: pytest.MonkeyPatch, scratch: Path) -> None:
    pytest.importorskip("onnxruntime")
    written: list[str] = []

    def killed(child: Any, do: str, *rest: Any) -> Any:
        if do == "run":
            written.extend(path.name for path in scratch.glob("workbench-peer-*/*"))
            os.kill(child._held.process.pid, signal.SIGKILL)
        return asked(child, do, *rest)

    asked = module._asked
    monkeypatch.setattr(module, "_asked", killed)
    error = refused(small_session(), small_inputs(), threads=1, model=small_model())
    assert error.code == "E-AGAINST-PEER"
    assert "optimized.onnx" in written and not [*scratch.glob("workbench-*")]


def test_onnxruntime_runs_alike_wherever_it_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other options of its threads one ratio told nothing of the other."""
    import onnx

    onnxruntime = pytest.importorskip("onnxruntime")
    told: list[dict[str, Any]] = []

    class Session:
        def __init__(self, model: Any, options: Any, providers: Any) -> None:
            spinning = ("session.force_spinning_stop", "session.intra_op.allow_spinning")
            entries = {name: entry(options, name) for name in spinning}
            told.append({
                **entries, "threads": (options.intra_op_num_threads, options.inter_op_num_threads),
                "level": options.graph_optimization_level, "mode": options.execution_mode, "on": list(providers),
            })  # fmt: skip

    def entry(options: Any, name: str) -> str:
        try:
            return options.get_session_config_entry(name)
        except RuntimeError:  # of one that is not set
            return ""

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    onnx.save(small_model(), tmp_path / "net.onnx")
    commands._onnxruntime(tmp_path / "net.onnx", small_inputs(), 3)
    header, data = module._opening(str(tmp_path / "net.onnx"), {}, 3, str(tmp_path))
    peer_service._Runs(header, data)
    assert len(told) == 3 and told[0] == told[1] == told[2], told
    assert told[0]["threads"] == (3, 1) and told[0]["session.force_spinning_stop"] == "1", told[0]


# --- with onnxruntime ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["small", "wide"])
def test_every_node_of_the_network_is_in_one_group(name: str, tmp_path: Path) -> None:
    import onnx

    pytest.importorskip("onnxruntime")
    model, inputs = (small_model(), small_inputs()) if name == "small" else (wide_model(), wide_inputs())
    onnx.save(model, tmp_path / "net.onnx")
    found = wb.open(str(tmp_path / "net.onnx")).against(inputs, threads=1)
    nodes = [node for row in found.rows for node in row.nodes]
    assert len(nodes) == len(set(nodes)), f"groups are apart: {found}"
    assert {label.partition("#")[0] for label in nodes} >= {"Conv", "Gemm"}, found
    assert found.peer_alone == () and all(row.ours > 0 or row.theirs > 0 for row in found.rows), found
    of_both = {label.partition("#")[0] for row in found.rows if row.ratio for label in row.nodes}
    assert of_both >= {"Conv", "Gemm"}, found
    assert found.peer.startswith("onnxruntime ") and found.ours > 0 and found.theirs > 0


def test_what_onnxruntime_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    wrong = {"x": np.zeros((2, 3, 4), "float32")}
    with module.Child(module._SERVICE, seconds=60) as child, pytest.raises(WorkbenchError) as caught:
        header, data = module._opening(small_model().SerializeToString(), wrong, 1, str(tmp_path))
        module._asked(child, "open", header, data)
        module._asked(child, "run", {"profiled": False})
    assert caught.value.code == "E-AGAINST-PEER" and "x" in caught.value.found

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
from workbench.driver.against import Against, OwnCall, PeerCall, floors_of, grouped, own_nodes
from workbench.driver.session import Session
from workbench.frontend.onnx import peer_service
from workbench.frontend.onnx.peer_service import smallest_model
from workbench.runtime.executor import DebugExecutor
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


MICRO = 1e-6
FLOORS = floors_of(0.5 * MICRO, 2 * MICRO)


def timed(*pairs: tuple[float, float], whole: tuple[float, float] = (0.0, 0.0), threads: int = 1) -> Against:
    """A group for each pair of microseconds, ours and theirs, on clocks as they are; `whole` runs, else all calls."""
    ours = [own(f"k{number}", number, seconds=pair[0] * MICRO) for number, pair in enumerate(pairs)]
    peers = [theirs(f"P{number}", number, seconds=pair[1] * MICRO) for number, pair in enumerate(pairs)]
    rows, *_ = grouped(ours, peers, [f"Conv#{number}" for number in range(len(pairs))], FLOORS)
    run = [one or sum(side) for one, side in zip(whole, zip(*pairs, strict=True), strict=True)]
    return Against(
        rows, run[0] * MICRO, run[1] * MICRO, threads, 9, "onnxruntime 1.2.3", (), (), 0.5 * MICRO, 2 * MICRO
    )


# --- groups -------------------------------------------------------------------------------------------------------


def test_calls_that_share_nodes_are_one_group_however_indirectly() -> None:
    found = compared(
        [own("a", 0, 1), own("b", 2), own("c", 3, seconds=5e-3)],
        [theirs("Conv", 0), theirs("Fused", 1, 2), theirs("Relu", 3)],
    )
    assert [(row.kernels, row.peers) for row in found.rows] == [(("c",), ("Relu",)), (("a", "b"), ("Conv", "Fused"))]
    assert found.rows[1].nodes == tuple(LABELS[:3])
    assert (found.rows[1].ours, found.rows[1].theirs) == (2e-3, 2e-3)


def test_the_largest_difference_is_first_and_shares_are_of_all_differences() -> None:
    found = compared(
        [own("even", 0), own("slow", 1, seconds=4e-3), own("fast", 2, seconds=1e-3)],
        [theirs("A", 0), theirs("B", 1, seconds=1e-3), theirs("C", 2, seconds=2e-3)],
    )
    assert [row.kernels for row in found.rows] == [("slow",), ("fast",), ("even",)]
    assert [round(found.share(row), 3) for row in found.rows] == [0.75, -0.25, 0.0]
    assert [row.ratio for row in found.rows] == [4.0, 0.5, 1.0]


def test_what_one_side_alone_does_has_no_ratio_and_what_is_not_mapped_is_told() -> None:
    found = compared([own("a", 0), own("copied")], [theirs("Shape", 4), theirs("Reorder"), theirs("Conv", 0)])
    assert {row.kernels: row.ratio for row in found.rows} == {("a",): 1.0, (): None}
    assert [call.kernel for call in found.own_alone] == ["copied"]
    assert [call.name for call in found.peer_alone] == ["Reorder"]
    assert (found.kernels, found.peer_kernels) == (2e-3, 3e-3)
    text = str(found)
    assert "no nodes of the file are known for 1 call of ours, 1.00 ms: copied" in text, text
    assert "no nodes of the file are known for 1 call of onnxruntime 1.2.3, 1.00 ms: Reorder" in text, text


def test_a_group_near_what_the_clocks_can_tell_has_no_ratio_and_is_counted_at_the_end() -> None:
    found = timed((3.0, 0.0), (100.0, 50.0), (0.1, 4.0), (1.0, 11.0), (30.0, 40.0))
    assert [(row.kernels[0], row.ratio, row.short) for row in found.rows[:2]] == [
        ("k1", 2.0, False), ("k4", pytest.approx(0.75), False),
    ]  # fmt: skip
    assert all(row.short and row.ratio is None for row in found.rows[2:]) and len(found.rows) == 5
    assert [round(found.share(row), 3) for row in found.rows[:2]] == [0.833, -0.167], "of what can be told alone"
    text = str(found)
    assert "too short to tell: 3 groups" in text and "k0" not in text and "k3" not in text, text
    assert "too short to tell: calls below 1.50 µs of ours or 12.0 µs of theirs" in text, text


def test_a_large_difference_is_no_short_one_though_one_side_takes_next_to_nothing() -> None:
    (row,) = timed((500.0, 1.0)).rows
    assert row.ratio is None and not row.short
    assert "500 µs" in str(timed((500.0, 1.0)))


def test_many_short_calls_of_one_group_are_as_unsure_as_one() -> None:
    calls = [own("k", 0, seconds=MICRO)] * 5
    (row,), *_ = grouped(calls, [theirs("P", 0, seconds=50 * MICRO)], LABELS, FLOORS)
    assert row.ratio is None, "5 µs of calls of 1 µs each are no better known than each"


def test_calls_and_whole_runs_that_disagree_are_told_with_the_reasons() -> None:
    pair = (100.0, 80.0)
    assert "disagree" not in str(timed(pair, whole=(90.0, 88.0)))
    for whole in ((70.0, 80.0), (100.0, 110.0), (115.0, 70.0)):
        text = str(timed(pair, whole=whole))
        assert "calls and whole runs disagree" in text, f"{whole}: {text}"
        assert "To time each call takes time itself" in text and "waited for" not in text, text
    text = str(timed(pair, whole=(200.0, 80.0), threads=2))
    assert "calls are 50 % of a run of ours, 100 % of one of onnxruntime 1.2.3's" in text, text
    assert "the 2 threads of a call are waited for before the next" in text, text


# --- told ---------------------------------------------------------------------------------------------------------


def test_the_table(golden) -> None:
    found = compared(
        [own("fused_conv2d", 0, 1, 2, 3, seconds=3e-3), own("fused_pool", 5), own("copied")],
        [theirs("Conv", 0), theirs("FusedConv", 1, 2, 3), theirs("Pool", 5, seconds=2e-3), theirs("Shape", 7)],
    )
    golden(str(found))
    golden(found._repr_mimebundle_()["text/html"], suffix=".html")


def test_the_largest_differences_of_either_sign_are_shown_and_the_others_are_one_row_before_the_totals() -> None:
    losses = [(101.0 + number / 100, 100.0) for number in range(40)]
    lines = str(timed(*losses, (300.0, 600.0), (900.0, 500.0))).splitlines()
    assert "k41" in lines[1] and "k40" in lines[2] and lines[2].endswith("%"), "\n".join(lines)
    rest = next(number for number, line in enumerate(lines) if "12 groups more" in line)
    assert rest == 31 and lines[rest + 1].startswith("a whole run"), "\n".join(lines)
    assert lines[rest].split()[-7:-3] == ["1.21", "ms", "1.20", "ms"], lines[rest]
    assert sum("of the differences:" in line for line in lines) == 1, "the column is explained"


def test_times_have_digits_whatever_their_size() -> None:
    text = str(timed((7.25, 23.0), (1234.0, 2_500_000.0)))
    assert all(word in text for word in ("7.25 µs", "23.0 µs", "1.23 ms", "2.50 s")), text


def test_the_html_is_well_formed_and_bounded_whatever_nodes_are_called() -> None:
    hostile = "<script>&\"'\x00]]>" * 40
    rows, *_ = grouped([own(hostile, 0)] * 100, [theirs(hostile, 0)], [hostile])
    html = against_html(Against(rows * 60, 1.0, 1.0, 2, 1, hostile, (), (), 0.0, 0.0))
    ElementTree.fromstring(html)
    assert "<script" not in html and len(html) < 400_000


def test_a_file_that_is_another_one_now_is_refused(tmp_path: Path) -> None:
    """Nodes are known by their numbers: those of another file would be taken for what runs here."""
    path = tmp_path / "net.onnx"
    path.write_bytes(small_model().SerializeToString())
    session = wb.open(str(path))
    other = small_model()
    for tensor in other.graph.initializer:
        if tensor.raw_data:
            tensor.raw_data = bytes(len(tensor.raw_data))
    path.write_bytes(other.SerializeToString())
    error = refused(session, small_inputs())
    assert error.code == "E-AGAINST-MODEL" and "opened from" in error.message
    path.write_bytes(small_model().SerializeToString())
    module._require_the_same(session, str(path))


def test_the_comparison_as_plain_data() -> None:
    found = compared([own("a", 0, seconds=2e-3), own("copied")], [theirs("Conv", 0), theirs("Shape", 4), theirs("Odd")])
    told = json.loads(json.dumps(found.to_json()))
    assert (told["peer"], told["threads"], told["rounds"], told["ratio"]) == ("onnxruntime 1.2.3", 1, 3, 2.0)
    assert told["rows"][0] == {
        "nodes": [LABELS[0]], "kernels": ["a"], "peers": ["Conv"], "ours": 2e-3, "theirs": 1e-3, "ratio": 2.0,
        "share": 0.5, "floor": 0.0, "peer_floor": 0.0,
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
        times = [0.01] * Peer.asked[-1][1].get("count", 1)
        answers = {"open": {"nodes": nodes, "version": "1.2.3"}, "run": {"seconds": times}, "nodes": {"calls": calls},
                   "empty": {"seconds": [3e-6, 2e-6]}}  # fmt: skip
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


def test_whole_runs_are_many_in_a_row_before_any_is_profiled(planted: type[Peer]) -> None:
    found = small_session().against(small_inputs(), model=small_model())
    asked = [(one["profiled"], one["count"]) for do, one in planted.asked if do == "run"]
    rounds = [count for profiled, count in asked if not profiled][1:]
    assert [profiled for profiled, _ in asked] == sorted(profiled for profiled, _ in asked), asked
    assert len(rounds) >= 3 and sum(rounds) == found.rounds
    assert max(rounds) > 5, f"a small model runs many times in a row: {rounds}"
    assert [do for do, _ in planted.asked if do != "run"] == ["open", "nodes", "empty"]
    assert found.theirs == 0.01 and found.rows[0].theirs < 1.0, "the first run of a call is left out"


def test_each_call_is_told_without_an_empty_one_on_both_sides(
    planted: type[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DebugExecutor, "empty_seconds", [0.5e-6])
    found = small_session().against(small_inputs(), model=small_model())
    assert (found.cost, found.peer_cost) == (0.5e-6, 2e-6)
    calls = sum(len(row.peers) for row in found.rows) + len(found.peer_alone)
    assert found.peer_kernels == pytest.approx(calls * (1e-3 - 2e-6))


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
    assert found.peer_alone == () and all(row.kernels or row.peers for row in found.rows), found
    of_both = {label.partition("#")[0] for row in found.rows if row.kernels and row.peers for label in row.nodes}
    assert of_both >= {"Conv", "Gemm"}, found
    assert found.peer.startswith("onnxruntime ") and found.ours > 0 and found.theirs > 0


def test_the_peer_runs_many_times_for_one_question_and_an_empty_call_of_it_is_short(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with module.Child(module._SERVICE, seconds=60) as child:
        module._asked(child, "open", *module._opening(smallest_model(), {"x": np.ones(1, "float32")}, 1, str(tmp_path)))
        assert 0 <= module._peer_cost(child, 1, str(tmp_path)) < 1e-3
        assert len(module._peer_runs(child, False, 7)) == 7 and len(module._peer_runs(child, True, 4)) == 4
        (call,) = module._asked(child, "nodes")["calls"]
        assert call["operator"] == "Neg" and len(call["seconds"]) == 4, call


def test_what_onnxruntime_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    wrong = {"x": np.zeros((2, 3, 4), "float32")}
    with module.Child(module._SERVICE, seconds=60) as child, pytest.raises(WorkbenchError) as caught:
        header, data = module._opening(small_model().SerializeToString(), wrong, 1, str(tmp_path))
        module._asked(child, "open", header, data)
        module._asked(child, "run", {"profiled": False})
    assert caught.value.code == "E-AGAINST-PEER" and "x" in caught.value.found

"""The link table says line by line what the layers say, and is small."""

import json

import pytest

from tests.driver.programs import small_session
from workbench import relay, te
from workbench.views.links import LinkView, link_table, parts_key

LIMIT = 60_000


def opened(view: LinkView, layer: str) -> list[frozenset[int]]:
    """The classes by line, from the JSON alone."""
    table = json.loads(json.dumps(view.to_json()))
    runs = table["layers"][layer]
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [frozenset(table["sets"][number]) for count, number in pairs for _ in range(count)]


@pytest.mark.parametrize("kernel", ["fused_nn_conv2d_nn_bias_add_add_nn_relu", "fused_nn_softmax", "main"])
def test_it_says_what_the_layers_say(kernel: str) -> None:
    links = small_session().provenance.links
    view = link_table(links, kernel)
    for name, layer in links.layers(kernel).items():
        assert opened(view, name) == list(layer.lines)
    assert view.sets[0] == () and len(json.dumps(view.to_json())) < LIMIT


def test_classes_have_the_names_of_their_operators() -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if name.endswith("nn_bias_add"))
    view = link_table(session.provenance.links, kernel)
    product = "nn.contrib_dense_pack" if "pack" in kernel else "nn.dense"
    assert list(view.names.values()) == [product, "nn.bias_add"]
    assert view.calls == (tuple(view.names),)


def test_the_key_of_parts_is_anothers_where_an_operator_is_gone() -> None:
    import workbench as wb

    def key(alpha: float, axes: tuple[int, ...]) -> str:
        x = relay.var("x", shape=(1, 2, 3))
        leaky = relay.nn.leaky_relu(x, alpha=alpha)
        return parts_key(wb.open(relay.Function([x], relay.exp(relay.transpose(leaky, axes)))).provenance.links)

    assert key(0.5, (0, 2, 1)) == key(0.25, (0, 2, 1)) != key(0.5, (0, 1, 2))


def test_stages_have_their_own_names() -> None:
    import workbench as wb

    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="twice")
    view = link_table(wb.open([a, b]).provenance.links, "main")
    assert list(view.names.values()) == ["twice"] and view.calls == ()


def test_without_machine_code_it_says_the_same_of_the_rest_and_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import workbench as wb
    from workbench.codegen.llvm import machine

    compiled: list[machine.Job] = []
    really = machine.compile_job
    monkeypatch.setattr(machine, "compile_job", lambda job: (compiled.append(job), really(job))[1])
    a = te.placeholder((8,), name="A")
    links = wb.open([a, te.compute((8,), lambda i: a[i] * 3.0, name="thrice")]).provenance.links
    view = link_table(links, "main", native=False)
    assert compiled == [] and "asm" not in view.layers and "ll" not in view.layers
    whole = link_table(links, "main")
    assert [opened(view, name) for name in view.layers] == [opened(whole, name) for name in view.layers]
    assert compiled != [] and "asm" in whole.layers

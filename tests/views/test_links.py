"""The link table says line by line what the layers say, and is small."""

import json

import pytest

from tests.driver.programs import small_session
from workbench import te
from workbench.views.links import LinkView, link_table

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
    view = link_table(small_session().provenance.links, "fused_nn_dense_nn_bias_add")
    assert list(view.names.values()) == ["nn.dense", "nn.bias_add"]
    assert view.calls == (tuple(view.names),)


def test_stages_have_their_own_names() -> None:
    import workbench as wb

    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="twice")
    view = link_table(wb.open([a, b]).provenance.links, "main")
    assert list(view.names.values()) == ["twice"] and view.calls == ()

"""Forms of passes' options, from their signatures."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core.errors import WorkbenchError
from workbench.core.transform import PASSES
from workbench.views.pass_forms import made, options_from, pass_form


def fields(name: str, **options: Any) -> dict[str, tuple[str, Any, bool]]:
    form = pass_form(name, options)
    return {one.name: (one.kind, one.default, one.required) for one in form.parameters}


def test_fields_have_the_kinds_and_defaults_of_the_signature() -> None:
    assert fields("FuseOps") == {"fuse_opt_level": ("integer", -1, False)}
    assert fields("DeadCodeElimination") == {
        "inline_once": ("boolean", False, False), "ignore_impurity": ("boolean", False, False)
    }  # fmt: skip
    assert fields("SimplifyFCTranspose") == {"target_weight_name": ("text", None, True)}
    assert fields("InferType") == {} and fields("EliminateCommonSubexpr") == {}, "a function has no field"
    assert fields("FuseOps", fuse_opt_level=2) == {"fuse_opt_level": ("integer", 2, False)}


def test_every_pass_has_a_form_and_what_it_holds_at_first_is_no_option() -> None:
    for name in PASSES:
        form = pass_form(name)
        if not any(one.required for one in form.parameters):
            assert options_from(name, {one.name: one.default for one in form.parameters}) == {}


def test_values_are_read_by_type_and_defaults_left_out() -> None:
    assert options_from("FuseOps", {"fuse_opt_level": 0}) == {"fuse_opt_level": 0}
    assert options_from("CombineParallelDense", {"min_num_branches": 3, "to_batch": False}) == {"to_batch": False}
    assert options_from("SimplifyFCTranspose", {"target_weight_name": "a, b,"}) == {"target_weight_name": ["a", "b"]}
    assert options_from("SimplifyFCTranspose", {"target_weight_name": "a"}) == {"target_weight_name": "a"}
    assert made("FuseOps", {"fuse_opt_level": 0}).options == {"fuse_opt_level": 0}


@pytest.mark.parametrize(
    ("name", "values", "code", "said"),
    [
        ("FuseOps", {"level": 1}, "E-PASS-OPTION", "no option 'level'"),
        ("FuseOps", {"fuse_opt_level": "two"}, "E-PASS-OPTION", "does not take this"),
        ("FuseOps", {"fuse_opt_level": True}, "E-PASS-OPTION", "does not take this"),
        ("DeadCodeElimination", {"inline_once": 1}, "E-PASS-OPTION", "does not take this"),
        ("SimplifyFCTranspose", {"target_weight_name": ""}, "E-PASS-OPTION", "needs 'target_weight_name'"),
        ("EliminateCommonSubexpr", {"fskip": "print"}, "E-PASS-OPTION", "does not take this"),
        ("FuseOp", {}, "E-PASS-UNKNOWN", "no pass 'FuseOp'"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(name: str, values: dict[str, Any], code: str, said: str) -> None:
    with pytest.raises(WorkbenchError, match=said) as caught:
        options_from(name, values)
    assert caught.value.code == code

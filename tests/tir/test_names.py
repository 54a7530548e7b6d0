"""The public names of `workbench.tir` all load, the classic ones from their layers."""

from __future__ import annotations

import pytest

from workbench import tir


def test_every_name_loads() -> None:
    for name in tir._NAMES:
        assert getattr(tir, name) is not None, name
        assert name in dir(tir)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Shedule'"):
        _ = tir.Shedule

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from rlreport.dialects import verl_knob_plugins
from rlreport.dialects.verl_knob_plugins import installed_rows
from rlreport.run.diagnostics import RlreportError
from rlreport.run.knobs import KnobRow

ROWS = (KnobRow("my.prefetch", "work", "prefetched batches"),)
NO_ROWS = ("my.prefetch",)
NOT_MANY = 3


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    def with_points(**values: str) -> None:
        points = EntryPoints(
            EntryPoint(name, f"{__name__}:{value}", verl_knob_plugins.ENTRY_POINTS) for name, value in values.items()
        )
        monkeypatch.setattr(verl_knob_plugins, "entry_points", lambda group: points.select(group=group))

    return with_points


def test_there_are_none_without_plugins() -> None:
    assert installed_rows() == ()


def test_rows_of_plugins_in_the_order_of_their_names(install: Any) -> None:
    install(b="ROWS", a="ROWS")
    assert installed_rows() == ROWS * 2


@pytest.mark.parametrize(
    ("value", "reason"),
    [("NOTHING", "cannot be loaded"), ("NO_ROWS", "something else than rows"), ("NOT_MANY", "no sequence of rows")],
)
def test_a_bad_plugin_is_named(install: Any, value: str, reason: str) -> None:
    install(bad=value)
    with pytest.raises(RlreportError) as caught:
        installed_rows()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RR300"
    assert "'bad'" in diagnostic.message
    assert reason in diagnostic.message

"""docs/simulator.md lists every parameter as the model has it, and every cause, defect and field of the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.defects import DEFECTS
from rlreport.simulator.pipeline import run_pipeline
from rlreport.simulator.scenario import parameter_rows
from rlreport.simulator.truth import describe

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"


def parameter_table() -> str:
    """The table of the documentation; on a failure, this is what belongs there."""
    rows = ["| parameter | unit | default | meaning | source |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| `{name}` | {unit or '-'} | {default or '-'} | {meaning} | {source} |"
        for name, unit, default, meaning, source in parameter_rows()
    ]
    return "\n".join(rows)


def test_the_table_of_parameters_is_the_models() -> None:
    text = PAGE.read_text()
    table = text.split("test_documentation.py -->\n")[1].split("\n<!-- end of parameters -->")[0]
    assert table == parameter_table()


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_every_defect_is_described(name: str) -> None:
    assert f"| `{name}` |" in PAGE.read_text()


def test_every_field_of_the_truth_is_described() -> None:
    described = PAGE.read_text().split("## truth.json")[1]
    truth = describe(run_pipeline(tiny()), None)
    assert all(f"`{key}`" in described for key in truth.keys() - {"schema_version", "scenario", "seed", "mode"})

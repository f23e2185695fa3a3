from __future__ import annotations

from support.made_courses import course_analysis, course_run, replicated_of

from rlreport.report.figures import IntervalFigure
from rlreport.report.model import Figure, Paragraph, Section, Table, plain
from rlreport.report.section_replicates import replicates_section

BASELINE = [course_run("a"), course_run("a2", seed=11, speed=1.03), course_run("a3", seed=12, speed=0.98)]
VARIANT = [course_run("b", seed=2, speed=1.4), course_run("b2", seed=13, speed=1.45), course_run("b3", seed=14, speed=1.42)]
ANALYSIS = course_analysis(BASELINE[0], VARIANT[0])


def shown(baseline: list, variant: list) -> Section:
    found = replicates_section(ANALYSIS, [replicated_of(baseline, variant)])
    assert found is not None
    return found


def test_every_run_is_a_point_and_the_groups_are_told() -> None:
    found = shown(BASELINE, VARIANT)
    figure, sentence, table = found.blocks
    assert isinstance(figure, Figure)
    assert isinstance(figure.spec, IntervalFigure)
    assert [row.label for row in figure.spec.rows] == ["run a", "run a2", "run a3", "run b", "run b2", "run b3"]
    assert [row.role for row in figure.spec.rows] == [0, 0, 0, 1, 1, 1]
    assert figure.spec.caption == "The groups lie farther apart than runs of one configuration do."
    assert isinstance(sentence, Paragraph)
    assert "from 3 against 3 runs" in plain(sentence.text)
    assert "between runs of both arms" in plain(sentence.text)
    assert isinstance(table, Table)
    cells = [plain(cell) for cell in table.rows[0].cells]
    assert cells[0] == "3 against 3"
    assert cells[-2:] == ["p = 0.10", "p = 0.10"]


def test_replicates_of_one_arm_say_what_they_can() -> None:
    apart = shown(BASELINE, VARIANT[:1])
    assert isinstance(apart.blocks[0], Figure)
    assert apart.blocks[0].spec.caption.startswith("Only the baseline has replicates: the difference is more than")
    near = shown([course_run("a"), course_run("a2", seed=11, speed=1.5)], VARIANT[:1])
    assert isinstance(near.blocks[0], Figure)
    assert "no more than its runs differ among themselves" in near.blocks[0].spec.caption
    assert isinstance(near.blocks[1], Paragraph)
    assert "runs an arm would show the ratio found" in plain(near.blocks[1].text)


def test_a_report_without_replicates_has_no_section() -> None:
    assert replicates_section(ANALYSIS, [None]) is None

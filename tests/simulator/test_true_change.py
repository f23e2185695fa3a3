from __future__ import annotations

import pytest
from support.tiny_scenarios import tiny

from rlreport.simulator.scenario import parameter_rows
from rlreport.simulator.true_change import CLASSES, changed_classes, parameter_class, parameters, true_change


def test_a_change_names_the_parameter_its_class_and_both_values() -> None:
    (change,) = true_change(tiny(), tiny(cluster__rollout_nodes=2))
    assert (change.parameter, change.parameter_class) == ("cluster.rollout_nodes", "resources")
    assert (change.baseline, change.variant) == (1, 2)


def test_names_and_seeds_differ_but_are_no_change_of_a_knob() -> None:
    other = tiny(name="other", seed=7)
    assert [change.parameter for change in true_change(tiny(), other)] == ["name", "seed"]
    assert changed_classes(tiny(), other) == ()


def test_two_classes_at_once() -> None:
    both = tiny(cluster__trainer_nodes=2, sync__warmup_batches=2, trainer__token_budget_per_rank=1024)
    assert changed_classes(tiny(), both) == ("resources", "work")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("schedule.validate_every_steps", "schedule"),
        ("schedule.validation_s", "model"),
        ("fully_async.staleness_threshold", "off-policy"),
        ("workload.response_tokens_mean", "workload"),
        ("quality.reward_noise", "model"),
        ("trainer.update_fixed_s", "model"),
        ("config.trainer.nnodes", "identity"),
    ],
)
def test_the_class_of_a_parameter_is_that_of_the_longest_beginning(name: str, expected: str) -> None:
    assert parameter_class(name) == expected


def test_every_class_belongs_to_a_parameter_that_exists() -> None:
    known = {row[0] for row in parameter_rows()}
    sections = {name.split(".")[0] for name in known}
    assert set(CLASSES) - known - sections == {""}


def test_the_parameters_are_those_of_the_documentation() -> None:
    listed = [row[0] for row in parameter_rows()]
    assert [name for name in parameters(tiny()) if not name.startswith("config.")] == [n for n in listed if n != "config"]

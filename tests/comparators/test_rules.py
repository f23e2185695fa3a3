from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.raw_runs import SEPARATE_CONFIG, SYNC_CONFIG, raw_run, timed_row

from rlreport.comparators.change import compare_config
from rlreport.comparators.change_results import RuleFinding
from rlreport.comparators.results import Change
from rlreport.comparators.rules import deciding_rule
from rlreport.dialects import interpret_run
from rlreport.run.model import Run, RunDeclaration
from rlreport.run.rules import ChangePolicy, Preset, Rule, Waiver

LR = "actor_rollout_ref.actor.optim.lr"
BATCH = "data.train_batch_size"
TEMPERATURE = "actor_rollout_ref.rollout.temperature"
MEMORY = "actor_rollout_ref.rollout.gpu_memory_utilization"


def _run(config: Mapping[str, Any]) -> Run:
    return interpret_run(raw_run({1: timed_row()}, config), RunDeclaration("r"))


def _change(
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    *rules: Rule,
    declared: Sequence[str] = (),
    preset: Preset | None = None,
    waivers: tuple[Waiver, ...] = (),
    base: Mapping[str, Any] = SYNC_CONFIG,
) -> Change:
    policy = ChangePolicy(rules, preset, waivers)
    return compare_config(_run({**base, **left}), _run({**base, **right}), declared=declared, policy=policy)


def _only(change: Change) -> RuleFinding:
    (finding,) = change.rules
    return finding


def _codes(change: Change) -> set[str]:
    return {notice.code for notice in change.notices}


def _message(change: Change, code: str) -> str:
    return next(notice.message for notice in change.notices if notice.code == code)


def test_a_pinned_knob_that_differs_keeps_the_runs_from_being_compared() -> None:
    change = _change({}, {MEMORY: 0.7}, Rule("gpu_memory_utilization", "pinned"), declared=["engine"])
    assert _only(change).standing == "violated"
    words = (
        "memory share of the engine is pinned, but changed: actor_rollout_ref.rollout.gpu_memory_utilization is 0.5 in the "
        "baseline, 0.7 in the variant"
    )
    assert change.blocking == (words,)
    assert change.verdict == "single"  # the verdict says what moved, not whether it was allowed


def test_a_broken_rule_is_told_once_and_not_again_by_its_class() -> None:
    change = _change({}, {TEMPERATURE: 0.7}, Rule("rollout.temperature", "pinned"))
    assert len(change.blocking) == 1
    assert "is pinned" in change.blocking[0]


def test_at_the_level_warn_a_rule_replaces_what_its_class_would_do() -> None:
    change = _change({}, {TEMPERATURE: 0.7}, Rule(TEMPERATURE, "pinned", "warn"))
    assert change.blocking == ()
    assert "is pinned, but changed" in _message(change, "RR412")
    assert _change({}, {TEMPERATURE: 0.7}).blocking != ()


def test_a_rule_that_is_off_leaves_the_key_to_its_class() -> None:
    rules = (Rule("rollout.*", "pinned"), Rule("rollout.temperature", "pinned", "off"))
    change = _change({}, {TEMPERATURE: 0.7}, *rules)
    assert change.blocking == ("the temperature changed: 1.0 against 0.7",)


def test_a_pinned_value_is_checked_on_each_side_also_where_nothing_differs() -> None:
    rule = Rule("rollout.temperature", "pinned", has_value=True, value="1.0")
    assert _only(_change({}, {}, rule)).standing == "holds"
    both = _change({TEMPERATURE: 0.7}, {TEMPERATURE: 0.7}, rule)
    assert both.verdict == "identical"
    assert both.blocking == (
        f"temperature ({TEMPERATURE}) is pinned to 1.0, but 0.7 in the baseline and 0.7 in the variant",
    )
    one = _change({}, {TEMPERATURE: 0.7}, rule)
    assert one.blocking[0].endswith("is pinned to 1.0, but 0.7 in the variant")
    assert len(one.blocking) == 1


def test_a_value_can_be_pinned_to_null_and_to_a_list() -> None:
    null = Rule("data.seed", "pinned", has_value=True, value=None)
    assert _only(_change({"data.seed": None}, {"data.seed": "null"}, null)).standing == "holds"
    assert _only(_change({"data.seed": None}, {"data.seed": 3}, null)).standing == "violated"
    files = Rule("data.train_files", "pinned", has_value=True, value=["/elsewhere/gsm8k/train.parquet"])
    assert _only(_change({}, {}, files)).standing == "holds"


def test_what_a_side_does_not_tell_is_unknown_unless_it_is_the_default() -> None:
    unlisted = Rule("data.something", "pinned", has_value=True, value=3)
    change = _change({"data.something": 3}, {}, unlisted, waivers=())
    assert _only(change).standing == "unknown"
    assert "not given in the variant" in _message(change, "RR413")
    default = Rule("trainer.val_before_train", "pinned", has_value=True, value=True)
    assert _only(_change({"trainer.val_before_train": True}, {}, default)).standing == "holds"
    nowhere = _change({}, {}, Rule("rollout.temperatur", "pinned"))
    assert _only(nowhere).standing == "unknown"
    assert _message(nowhere, "RR415").endswith("did you mean 'rollout.temperature'?")
    assert nowhere.blocking == ()


def test_a_partial_configuration_leaves_a_pinned_knob_unknown() -> None:
    whole, partial = _run({**SYNC_CONFIG, "data.something": 3}), _run({"trainer.nnodes": 2})
    policy = ChangePolicy((Rule("data.something", "pinned"),))
    for pair in ((whole, partial), (partial, whole)):
        change = compare_config(*pair, declared=(), policy=policy)
        assert _only(change).standing == "unknown"
        assert "is not known for the" in _only(change).message


def test_a_knob_of_a_part_that_does_not_run_breaks_no_rule() -> None:
    change = _change({"critic.optim.lr": 1e-5}, {"critic.optim.lr": 1e-6}, Rule("critic.optim.lr", "pinned"))
    assert (_only(change).standing, _only(change).message) == ("holds", "critic.optim.lr changes nothing in these runs")


def test_a_free_knob_does_not_count() -> None:
    change = _change({"data.seed": 1}, {"data.seed": 2, MEMORY: 0.7}, Rule("data.seed", "free"), declared=["engine"])
    assert change.verdict == "single"
    assert change.blocking == ()
    waived = {d.key: d.waived for d in change.differences}
    assert waived == {"data.seed": "free by rule", MEMORY: None}
    assert _only(change).standing == "holds"


def test_a_derived_knob_that_follows_its_expression_is_coupled_to_what_moved() -> None:
    rule = Rule("optim.lr", "derived", expression="1e-6 * sqrt(data.train_batch_size / 4)")
    # The batch grows fourfold, so that the rate must double.
    change = _change({LR: 1e-6}, {LR: 2e-6, BATCH: 16}, rule, declared=["work"])
    assert change.verdict == "coupled"
    assert {d.key: d.coupled_by for d in change.differences} == {LR: BATCH, BATCH: None}
    assert change.blocking == ()
    assert _only(change).standing == "holds"


def test_a_derived_knob_off_its_expression_blocks_with_the_numbers() -> None:
    rule = Rule("optim.lr", "derived", expression="1e-6 * sqrt(train_batch_size / 4)")
    change = _change({LR: 1e-6}, {LR: 3e-6, BATCH: 16}, rule, declared=["work"])
    assert _only(change).standing == "violated"
    assert change.blocking == (
        "learning rate (actor_rollout_ref.actor.optim.lr) must be 1e-6 * sqrt(train_batch_size / 4), but is 3e-06 in the "
        "variant, where 1e-6 × sqrt(16 / 4) is 2e-06",
    )
    still = _change({LR: 1e-6}, {LR: 1e-6, BATCH: 16}, rule, declared=["work"])  # it did not follow
    assert _only(still).standing == "violated"


def test_a_derived_knob_is_unknown_where_a_name_is() -> None:
    rule = Rule("optim.lr", "derived", expression="nothing.known * 2")
    change = _change({LR: 1e-6}, {LR: 2e-6}, rule)
    assert _only(change).standing == "unknown"
    assert "the baseline does not tell nothing.known" in _only(change).message
    assert change.blocking == ("the learning rate changed: 1e-06 against 2e-06",)  # as without the rule


def test_devices_can_be_named_in_an_expression() -> None:
    rule = Rule("data.train_batch_size", "derived", expression="devices.trainer / 2")
    change = _change({}, {"trainer.nnodes": 4, BATCH: 8}, rule, declared=["resources"])
    assert _only(change).standing == "holds"  # 2 x 4 devices and 4 prompts; 4 x 4 devices and 8 prompts
    assert change.verdict == "coupled"
    assert {d.key: d.coupled_by for d in change.differences} == {"trainer.nnodes": None, BATCH: "trainer.nnodes"}


def test_a_waiver_goes_before_a_rule() -> None:
    change = _change({}, {TEMPERATURE: 0.7}, Rule(TEMPERATURE, "pinned"), waivers=(Waiver(TEMPERATURE, "a trial"),))
    assert change.blocking == ()
    assert _only(change).message == f"{TEMPERATURE} is waived"


def test_the_last_rule_that_covers_a_key_decides() -> None:
    rules = [Rule("rollout.*", "pinned"), Rule("rollout.temperature", "free")]
    assert _change({}, {TEMPERATURE: 0.7}, *rules).blocking == ()
    turned = _change({}, {TEMPERATURE: 0.7}, *reversed(rules))
    assert turned.blocking != ()
    assert [finding.kind for finding in turned.rules] == ["pinned"]  # the free rule decides no key any more


@pytest.mark.parametrize(
    ("preset", "blocked"),
    [(None, False), ("exploratory", False), ("strict", True)],
)
def test_presets_judge_an_undeclared_change_of_a_tuned_class(preset: Preset | None, blocked: bool) -> None:
    change = _change({}, {"trainer.test_freq": 4, "trainer.nnodes": 4}, declared=["resources"], preset=preset)
    assert change.verdict == "confounded"
    assert bool(change.blocking) is blocked
    assert change.tolerated is (preset == "exploratory")
    assert ("RR414" in _codes(change)) is (preset == "exploratory")
    if blocked:
        assert change.blocking == ("the steps between validations changed: 2 against 4",)


def test_exploratory_does_not_let_fixed_classes_pass() -> None:
    workload = _change({}, {TEMPERATURE: 0.7}, preset="exploratory")
    assert workload.blocking != ()
    assert not workload.tolerated
    engine = _change({}, {MEMORY: 0.7}, preset="exploratory")
    assert engine.verdict == "undeclared"
    assert not engine.tolerated
    assert _change({}, {"trainer.test_freq": 4}, preset="exploratory").tolerated


def test_strict_lets_pass_what_was_declared_coupled_waived_or_only_names_things() -> None:
    sync, mini = "trainer.v1.separate_async.parameter_sync_step", "actor_rollout_ref.actor.ppo_mini_batch_size"
    changed = {sync: 1, mini: 4, "trainer.experiment_name": "two", "trainer.test_freq": 4}
    waivers = (Waiver("trainer.test_freq", "not reached"),)
    change = _change({}, changed, declared=["sync"], preset="strict", waivers=waivers, base=SEPARATE_CONFIG)
    assert change.verdict == "coupled"
    assert change.blocking == ()


KEYS = st.lists(st.sampled_from(["a", "b", "rollout", "n", "lr"]), min_size=1, max_size=4).map(".".join)


@given(KEYS, st.lists(st.tuples(KEYS, st.sampled_from(["off", "warn", "error"])), max_size=5))
def test_a_rule_covers_a_key_by_whole_parts_from_its_end(key: str, named: list[tuple[str, Any]]) -> None:
    rules = [Rule(knob, "pinned", level) for knob, level in named]
    parts = key.split(".")
    ends = {".".join(parts[place:]) for place in range(len(parts))}
    covering = [rule for rule in rules if rule.knob in ends]
    expected = covering[-1] if covering and covering[-1].level != "off" else None
    assert deciding_rule(rules, key) is expected


@given(KEYS)
def test_a_pattern_covers_every_key_and_an_exact_key_itself(key: str) -> None:
    assert deciding_rule([Rule("**", "free")], key) is not None
    assert deciding_rule([Rule(key, "free")], key) is not None
    assert deciding_rule([Rule(f"x{key}", "free")], key) is None


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([LR, BATCH, TEMPERATURE, MEMORY, "trainer.nnodes", "data.seed", "data.shuffle"]),
        st.sampled_from([1, 2, 4]),
        max_size=4,
    )
)
def test_everything_free_leaves_nothing_to_say(changed: dict[str, Any]) -> None:
    change = _change({}, changed, Rule("**", "free"))
    assert change.verdict == "identical"
    assert change.blocking == ()
    assert all(d.waived for d in change.differences)

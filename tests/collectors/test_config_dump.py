from __future__ import annotations

import ast
import pprint
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verl_logs import VerlLog, flat, small_config

from rlreport.collectors.config_dump import DUMP_START, ConfigDump, read_dump


def recover(log: VerlLog) -> ConfigDump:
    data = log.data
    position = data.index(DUMP_START)
    start = data.rfind(b"\n", 0, position) + 1
    dump = read_dump(data, position, start, data.count(b"\n", 0, position) + 1, "x.log")
    assert dump is not None
    return dump


def values(dump: ConfigDump) -> dict[str, Any]:
    return {key: value.value for key, value in dump.config.items()}


def with_pieces(text: str, line_index: int, at: int, between: str = "") -> VerlLog:
    """A dump whose line `line_index` is split at `at`, with raw text between the two prefixed pieces."""
    log = VerlLog()
    for index, line in enumerate(text.split("\n")):
        if index == line_index:
            log.line(line[:at]).raw(between).line(line[at:])
        else:
            log.line(line)
    return log


TEXT = pprint.pformat(small_config())
LINES = TEXT.split("\n")


def test_a_whole_dump_with_the_line_of_every_value() -> None:
    log = VerlLog().foreign(4).config_dump(small_config())
    dump = recover(log)
    assert dump.complete
    assert values(dump) == flat(small_config())
    lines = log.text.split("\n")
    for key, value in dump.config.items():
        path, _, number = value.origin.rpartition(":")
        assert path == "x.log"
        assert repr(key.rpartition(".")[2]) in lines[int(number) - 1], key
    assert dump.line_count == len(LINES)
    assert dump.actor == "TaskRunner"


@pytest.mark.parametrize("actor", ["TaskRunner", None])
@pytest.mark.parametrize("colours", ["new", "none"])
def test_foreign_lines_within(actor: str | None, colours: Any) -> None:
    own = VerlLog(actor=actor, colours=colours)
    noise = VerlLog(actor=actor, colours=colours)
    noise.line("/opt/lib/hook.py:22: DeprecationWarning: placement_group is deprecated", actor).line(
        "  return fn(*args)", actor
    )
    noise.line("    'megatron.core.transformer' instead.", actor).line("{'eos_token_id': 1, 'pad': [1, 2]}", actor)
    noise.line("worker group kwargs: {'device_name': 'npu'}", actor).line("", "WorkerDict", 3).line(
        "  'foo': 1,", "WorkerDict", 3
    )
    noise.raw("Filtering prompts longer than 1024 tokens:  25%|██▌       | 500/2000\n")
    own.config_dump(small_config(), between=dict.fromkeys(range(0, len(LINES) - 1, 3), noise.text))
    dump = recover(own)
    assert dump.complete
    assert values(dump) == flat(small_config())


def test_output_glued_into_a_line() -> None:
    text = TEXT.replace("'n': 5,", "'n': 5,(TaskRunner pid=108806) /opt/x.py:1: UserWarning: y")
    log = VerlLog()
    for line in text.split("\n"):
        log.line(line)
    assert values(recover(log)) == flat(small_config())


def test_unprefixed_output_glued_after_a_comma() -> None:
    text = TEXT.replace("'max_num_seqs': 1024,", "'max_num_seqs': 1024,/opt/x.py:1: UserWarning: it's 'y'")
    log = VerlLog(actor=None)
    for line in text.split("\n"):
        log.line(line)
    assert values(recover(log)) == flat(small_config())


@pytest.mark.parametrize("between", ["", VerlLog().line("INFO: loading", "WorkerDict", 4).text])
def test_a_line_split_anywhere_never_changes_a_value(between: str) -> None:
    expected = flat(small_config())
    complete = lost = total = 0
    for index, line in enumerate(LINES):
        for at in range(1, len(line)):
            dump = recover(with_pieces(TEXT, index, at, between)) if index or at > len("{'actor_rollout_ref': ") else None
            if dump is None:
                continue
            total += 1
            read = values(dump)
            assert all(read[key] == expected[key] for key in read), (index, at)
            assert dump.complete
            assert set(expected) - set(read) == set(dump.lost)
            complete += not dump.lost
            lost += bool(dump.lost)
    assert complete >= 0.9 * total
    assert lost > 0


def leaves_a_mapping_for_another(text: str) -> bool:
    """Whether a piece of a dump closes what was open before it and opens as much again: nothing shows that it is gone."""
    depth, depths = 0, [0]
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        depths.append(depth)
    return min(depths) < 0 and depths[-1] == 0


def missing_pieces() -> list[tuple[int, int]]:
    """(first line, number of lines) of pieces whose loss can be seen, spread over the dump."""
    pieces = [(start, count) for start in range(1, len(LINES) - 1) for count in range(1, 6)]
    return [piece for piece in pieces if not leaves_a_mapping_for_another("".join(LINES[piece[0] : sum(piece)]))]


@pytest.mark.parametrize(("start", "count"), missing_pieces())
def test_missing_lines_never_move_a_value_to_another_key(start: int, count: int) -> None:
    log = VerlLog()
    for line in LINES[:start] + LINES[start + count :]:
        log.line(line)
    read, expected = values(recover(log)), flat(small_config())
    moved = {key: value for key, value in read.items() if key not in expected}
    assert moved == {}
    for key, value in read.items():
        if isinstance(value, list):
            assert set(map(str, value)) <= set(map(str, expected[key]))
        else:
            assert value == expected[key]


def test_a_dump_that_breaks_off() -> None:
    log = VerlLog()
    for line in LINES[:20]:
        log.line(line)
    log.line("step:1 - training/global_step:1 - timing_s/step:2.5")
    dump = recover(log)
    assert not dump.complete
    assert values(dump)
    assert values(dump).items() <= flat(small_config()).items()


def test_another_dict_is_not_taken() -> None:
    data = VerlLog().line("ray init kwargs: {'actor_rollout_ref': {'a': 1}}").data
    assert read_dump(data, data.index(DUMP_START), 0, 1, "x.log") is None


def test_a_tag_before_it_is_allowed() -> None:
    data = VerlLog().line("[ASYNC MAIN] {'actor_rollout_ref': {'a': 1}}").data
    dump = read_dump(data, data.index(DUMP_START), 0, 1, "x.log")
    assert dump is not None
    assert values(dump) == {"actor_rollout_ref.a": 1}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=120),
    st.lists(st.integers(0, 9) | st.text("ab'\"\\ ", max_size=6), max_size=30),
)
TREES = st.recursive(
    st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), LEAVES, max_size=6),
    lambda inner: st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), LEAVES | inner, max_size=5),
    max_leaves=25,
)


@settings(deadline=None)
@given(TREES)
def test_every_tree_that_is_printed_is_read(tree: dict[str, Any]) -> None:
    whole = {"actor_rollout_ref": {"a": 1, **tree}, "data": tree}
    assert ast.literal_eval(pprint.pformat(whole)) == whole
    assert values(recover(VerlLog().config_dump(whole))) == flat(whole)


def test_numbers_that_are_not_finite() -> None:
    read = values(recover(VerlLog().line("{'actor_rollout_ref': {'a': inf, 'b': -inf, 'c': [nan, 1]}}")))
    assert read["actor_rollout_ref.a"] == float("inf")
    assert read["actor_rollout_ref.b"] == -float("inf")
    assert str(read["actor_rollout_ref.c"]) == "[nan, 1]"


def test_objects_that_are_not_data_are_left_out() -> None:
    dump = recover(VerlLog().line("{'actor_rollout_ref': {'a': PosixPath('/x'), 'b': <Enum.X: 1>, 'c': 1}}"))
    assert values(dump) == {"actor_rollout_ref.c": 1}
    assert dump.lost == ("actor_rollout_ref.a", "actor_rollout_ref.b")


def test_keys_that_are_not_sorted_are_read_too() -> None:
    text = "{'actor_rollout_ref': {'b': 1,\n                       'a': 2},\n 'trainer': 3,\n 'data': 4}"
    log = VerlLog()
    for line in text.split("\n"):
        log.line(line)
    assert values(recover(log)) == {"actor_rollout_ref.b": 1, "actor_rollout_ref.a": 2, "trainer": 3, "data": 4}


def test_a_paste_that_lost_its_leading_spaces() -> None:
    log = VerlLog()
    for line in LINES:
        log.line(line.strip())
    assert values(recover(log)) == flat(small_config())

from __future__ import annotations

from rlreport.collectors.attempts import AttemptCounter, is_training, is_validation_only

TRAIN = ["timing_s/step", "actor/loss"]
VALIDATE = ["val-core/a/acc/mean@1"]


def attempts(rows: list[tuple[int, list[str]]]) -> list[int]:
    counter = AttemptCounter()
    return [counter.count(step, keys) for step, keys in rows]


def test_a_step_that_goes_backwards_is_a_restart() -> None:
    assert attempts([(1, TRAIN), (2, TRAIN), (3, TRAIN), (2, TRAIN), (3, TRAIN), (1, TRAIN)]) == [0, 0, 0, 1, 1, 2]


def test_several_rows_of_one_step_are_none() -> None:
    assert attempts([(1, TRAIN), (1, VALIDATE), (1, TRAIN), (2, TRAIN)]) == [0, 0, 0, 0]


def test_a_late_validation_is_none() -> None:
    assert attempts([(4, TRAIN), (5, TRAIN), (4, VALIDATE), (4, ["fully_async/count/x"]), (6, TRAIN)]) == [0] * 5


def test_a_validation_of_step_zero_after_training_is_one() -> None:
    assert attempts([(0, VALIDATE), (1, TRAIN), (2, TRAIN), (0, VALIDATE), (1, TRAIN), (2, TRAIN)]) == [0, 0, 0, 1, 1, 1]


def test_an_announced_resume_counts_even_when_the_steps_go_on() -> None:
    counter = AttemptCounter()
    counter.announce()
    assert counter.count(1, TRAIN) == 0
    counter.announce()
    assert counter.count(1, VALIDATE) == 1
    assert counter.count(2, TRAIN) == 1
    counter.announce()
    assert counter.count(3, TRAIN) == 2


def test_without_the_frameworks_keys_every_row_counts() -> None:
    assert attempts([(40, ["a"]), (41, ["a"]), (40, ["a"])]) == [0, 0, 1]


def test_kinds_of_rows() -> None:
    assert is_validation_only(VALIDATE)
    assert not is_validation_only([*VALIDATE, *TRAIN])
    assert is_training(TRAIN)
    assert not is_training(["rollouter/validate_time", "fully_async/count/x"])


def test_the_upcoming_attempt() -> None:
    counter = AttemptCounter()
    counter.announce()
    assert counter.upcoming == 0
    counter.count(1, TRAIN)
    assert counter.upcoming == 0
    counter.announce()
    assert (counter.upcoming, counter.attempt) == (1, 0)
    counter.count(1, TRAIN)
    assert counter.upcoming == counter.attempt == 1

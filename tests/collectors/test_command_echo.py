from __future__ import annotations

from typing import Any

import pytest

from rlreport.collectors.command_echo import read_commands, read_overrides


def values(text: str) -> list[tuple[str, dict[str, Any]]]:
    commands = read_commands(text.encode(), "x.log")
    return [(command.main, {key: value.value for key, value in command.config.items()}) for command in commands]


def test_an_echo_of_the_shell() -> None:
    text = (
        "++ a=1\n"
        "++ python3 -m verl.trainer.main_ppo --config-name=x.yaml algorithm.adv_estimator=grpo "
        "'data.train_files=['\\''/data/a.parquet'\\'', '\\''/data/b.parquet'\\'']' actor.lr=1e-6 +new.key=true ++other=null "
        "~critic.model 'trainer.logger=[console,wandb]' trainer.ratio=16:16 hydra.run.dir=/x\n"
    )
    expected = {
        "algorithm.adv_estimator": "grpo",
        "data.train_files": ["/data/a.parquet", "/data/b.parquet"],
        "actor.lr": 1e-06,
        "new.key": True,
        "other": None,
        "trainer.logger": ["console", "wandb"],
        "trainer.ratio": "16:16",
    }
    assert values(text) == [("verl.trainer.main_ppo", expected)]
    assert read_commands(text.encode(), "x.log")[0].config["actor.lr"].origin == "x.log:2"


def test_lines_joined_by_backslashes() -> None:
    text = "python3 -m verl.experimental.fully_async_policy.fully_async_main \\\n    a.b=1 \\\n    c=x\nnot.this=2\n"
    assert values(text) == [("verl.experimental.fully_async_policy.fully_async_main", {"a.b": 1, "c": "x"})]


def test_a_script_and_several_launches() -> None:
    text = "+ python3 /opt/verl/verl/trainer/main_ppo.py a=1\n+ torchrun --nproc 8 -m verl.trainer.fsdp_sft_trainer b=2\n"
    assert values(text) == [("verl.trainer.main_ppo", {"a": 1}), ("verl.trainer.fsdp_sft_trainer", {"b": 2})]


def test_an_unfinished_quote_does_not_hurt() -> None:
    assert values("python3 -m verl.trainer.main_ppo a=1 b='x\n") == [("verl.trainer.main_ppo", {"a": 1, "b": "'x"})]


@pytest.mark.parametrize(
    "text",
    [
        '  File "/opt/verl/verl/trainer/main_ppo.py", line 42, in main\n',
        "/opt/verl/verl/trainer/main_ppo.py:181: UserWarning: x=1\n",
        "",
    ],
)
def test_no_command(text: str) -> None:
    assert values(text) == []


def test_values_that_are_not_final_are_left_out() -> None:
    config = read_overrides(["a=$HOME/x", "b=${oc.env:X}", "c=1", "--flag=2", "word"], "here")
    assert {key: value.value for key, value in config.items()} == {"c": 1}


def test_a_mapping_is_flattened() -> None:
    config = read_overrides(["+rope={type:linear,factor:2.0}"], "here")
    assert {key: value.value for key, value in config.items()} == {"rope.type": "linear", "rope.factor": 2.0}

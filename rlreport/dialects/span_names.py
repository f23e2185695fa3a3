"""What names in timelines mean: of activities (-> `Activity`), of lanes (-> side), of quantities (-> canonical gauge).

The tables are meant to be read and extended. A name is looked up as it is, then without what frameworks put around it:
Ray's `ray::Class.method()`, AReaL's `train.`, the worker group in verl's fused methods
(`actor_rollout_compute_log_prob`), step numbers. What no row names is the activity "other", and a lane that no row names
is of an unknown side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rlreport.run.model import SEPARATED_MODES, Mode
from rlreport.run.spans import Activity, LaneSide


@dataclass(frozen=True, slots=True)
class NameRow:
    """Names of one framework that stand for one activity, and where the framework says so."""

    activity: Activity
    framework: str
    names: tuple[str, ...]
    source: str


_VERL_WORKERS = "verl/workers/engine_workers.py, verl/workers/fsdp_workers.py"
_VERL_TIMERS = "verl/trainer/ppo/ray_trainer.py, verl/trainer/ppo/v1/trainer_base.py"
_STATES = "verl/utils/profiler/profile.py, verl/workers/rollout/vllm_rollout/vllm_async_server.py"
_AREAL = "areal/trainer/rl_trainer.py, areal/utils/perf_tracer.py"
_ROLL = "roll/pipeline/rlvr/rlvr_pipeline.py, roll/utils/otel_receiver.py"
_SLIME = "slime/observability/timer.py, slime/backends/megatron_utils/actor.py"
_NEMO = "nemo_rl/algorithms/grpo.py"
_SKYRL = "skyrl/train/trainer.py, skyrl/train/fully_async_trainer.py"
_OPENRLHF = "openrlhf/trainer/ppo_trainer.py, openrlhf/trainer/ppo_trainer_async.py"
_PRIME = "src/prime_rl/trainer/rl/train.py, src/prime_rl/orchestrator/orchestrator.py"
_OPEN_INSTRUCT = "open_instruct/grpo_fast.py"
_TINKER = "tinker_cookbook/rl/train.py, tinker_cookbook/utils/trace.py"

NAME_ROWS: tuple[NameRow, ...] = (
    # Generation.
    NameRow("generate", "verl", ("generate_sequences", "async_generate_sequences", "agent_loop_rollout"), _VERL_WORKERS),
    NameRow("generate", "verl", ("vllm_generate", "sglang_generate", "trtllm_generate", "mock_generate"), _STATES),
    NameRow("generate", "verl", ("gen", "generate_async"), _VERL_TIMERS),
    NameRow("generate", "AReaL", ("generate", "agenerate"), _AREAL),
    NameRow("generate", "ROLL", ("generate", "step_generate", "rollout", "step_rollout"), _ROLL),
    NameRow("generate", "slime", ("rollout", "generate_rollout"), _SLIME),
    NameRow("generate", "NeMo-RL", ("generation",), _NEMO),
    NameRow("generate", "OpenRLHF", ("generation", "generate_samples"), _OPENRLHF),
    NameRow("generate", "tinker-cookbook", ("sampling", "do_group_rollout"), _TINKER),
    # Updates of the policy and of the critic.
    NameRow("update_actor", "verl", ("update_actor", "actor_update", "update_policy"), _VERL_WORKERS),
    NameRow("update_actor", "AReaL", ("ppo_update", "ppo_actor_update", "actor_train_step"), _AREAL),
    NameRow("update_actor", "ROLL", ("actor_train", "train_step"), _ROLL),
    NameRow("update_actor", "slime", ("actor_train",), _SLIME),
    NameRow("update_actor", "NeMo-RL", ("policy_training",), _NEMO),
    NameRow("update_actor", "SkyRL", ("policy_train",), _SKYRL),
    NameRow("update_actor", "OpenRLHF", ("ppo_train",), _OPENRLHF),
    NameRow("update_critic", "verl", ("update_critic", "critic_update"), _VERL_WORKERS),
    NameRow("update_critic", "AReaL", ("critic_train_step", "ppo_critic_update"), _AREAL),
    NameRow("update_critic", "ROLL", ("critic_train",), _ROLL),
    NameRow("update_critic", "SkyRL", ("critic_train",), _SKYRL),
    NameRow("train", "verl", ("train_batch", "train_mini_batch"), _STATES),
    NameRow("train", "ROLL", ("train", "step_train"), _ROLL),
    NameRow("train", "slime", ("train",), _SLIME),
    NameRow("train", "SkyRL", ("train_critic_and_policy", "run_training"), _SKYRL),
    NameRow("train", "prime-rl", ("forward_backward",), _PRIME),
    NameRow("train", "open-instruct", ("training",), _OPEN_INSTRUCT),
    # Forward passes over finished samples.
    NameRow("old_log_prob", "verl", ("old_log_prob", "compute_log_prob", "actor_compute_log_prob"), _VERL_WORKERS),
    NameRow("old_log_prob", "AReaL", ("recompute_logp", "compute_logp"), _AREAL),
    NameRow("old_log_prob", "ROLL", ("old_log_probs", "cal_old_log_probs", "compute_log_probs"), _ROLL),
    NameRow("old_log_prob", "slime", ("log_probs",), _SLIME),
    NameRow("old_log_prob", "NeMo-RL", ("policy_and_reference_logprobs", "logprobs", "get_logprobs"), _NEMO),
    NameRow("old_log_prob", "SkyRL", ("fwd_logprobs_values_reward",), _SKYRL),
    NameRow("ref", "verl", ("ref", "compute_ref_log_prob", "ref_compute_log_prob"), _VERL_WORKERS),
    NameRow("ref", "AReaL", ("ref_logp",), _AREAL),
    NameRow("ref", "ROLL", ("ref_log_probs", "ref_log_probs_values", "cal_ref_log_probs"), _ROLL),
    NameRow("ref", "slime", ("ref_log_probs",), _SLIME),
    NameRow("values", "verl", ("values", "compute_values", "infer_batch_critic"), _VERL_WORKERS),
    NameRow("values", "AReaL", ("critic_values",), _AREAL),
    NameRow("values", "ROLL", ("cal_values",), _ROLL),
    NameRow("reward", "verl", ("reward", "compute_rm_score", "compute_reward", "compute_score"), _VERL_WORKERS),
    NameRow("reward", "AReaL", ("reward", "teacher_logp"), _AREAL),
    NameRow("reward", "ROLL", ("cal_reward", "cal_rewards", "reward_norm"), _ROLL),
    NameRow("reward", "NeMo-RL", ("reward_calculation",), _NEMO),
    NameRow("advantage", "verl", ("adv", "advantage", "compute_advantage"), _VERL_TIMERS),
    NameRow("advantage", "AReaL", ("compute_advantages", "compute_advantage"), _AREAL),
    NameRow("advantage", "ROLL", ("compute_advantage", "cal_advantage"), _ROLL),
    NameRow("advantage", "NeMo-RL", ("advantage_calculation",), _NEMO),
    NameRow("advantage", "SkyRL", ("compute_advantages_and_returns",), _SKYRL),
    # New weights on their way, and devices that change sides.
    NameRow("weight_sync", "verl", ("update_weights", "param_sync", "sync_rollout_weights", "weight_sync"), _VERL_TIMERS),
    NameRow("weight_sync", "AReaL", ("update_weights", "rollout_pause"), _AREAL),
    NameRow("weight_sync", "ROLL", ("model_update", "step_model_update"), _ROLL),
    NameRow("weight_sync", "slime", ("update_weights",), _SLIME),
    NameRow("weight_sync", "NeMo-RL", ("weight_sync", "transfer_and_update_weights"), _NEMO),
    NameRow("weight_sync", "SkyRL", ("sync_weights", "broadcast_weights"), _SKYRL),
    NameRow("weight_sync", "OpenRLHF", ("broadcast", "broadcast_to_vllm"), _OPENRLHF),
    NameRow("weight_sync", "prime-rl", ("broadcast_weights", "update_weights"), _PRIME),
    NameRow("switch", "verl", ("switch", "switch_to_rollout", "switch_to_trainer", "reshard"), _VERL_TIMERS),
    NameRow("switch", "verl", ("wake_up", "sleep", "release_memory", "resume_memory"), _VERL_WORKERS),
    NameRow("switch", "ROLL", ("offload_states", "load_states", "step_stop_server"), _ROLL),
    NameRow("switch", "NeMo-RL", ("prepare_for_generation", "prepare_for_training", "finish_generation"), _NEMO),
    # Validation and checkpoints.
    NameRow("validate", "verl", ("testing", "validate", "validation", "trainer_side_validate"), _VERL_TIMERS),
    NameRow("validate", "AReaL", ("eval", "evaluate"), _AREAL),
    NameRow("validate", "ROLL", ("val", "val_step", "step_val"), _ROLL),
    NameRow("validate", "slime", ("eval",), _SLIME),
    NameRow("validate", "tinker-cookbook", ("run_evals",), _TINKER),
    NameRow("checkpoint", "verl", ("checkpoint", "save_checkpoint", "load_checkpoint"), _VERL_TIMERS),
    NameRow("checkpoint", "AReaL", ("save", "checkpoint_for_recover"), _AREAL),
    NameRow("checkpoint", "ROLL", ("do_checkpoint", "step_checkpoint"), _ROLL),
    NameRow("checkpoint", "slime", ("save_model",), _SLIME),
    NameRow("checkpoint", "NeMo-RL", ("checkpointing",), _NEMO),
    NameRow("checkpoint", "SkyRL", ("save_checkpoints", "save_hf_model"), _SKYRL),
    NameRow("checkpoint", "prime-rl", ("save_ckpt", "save_weights"), _PRIME),
    NameRow("checkpoint", "open-instruct", ("saving",), _OPEN_INSTRUCT),
    # Waiting.
    NameRow("wait", "verl", ("wait", "wait_prev_gen", "switch_wait", "wait_for_enough_samples"), _VERL_TIMERS),
    NameRow("wait", "AReaL", ("train.rollout", "distill_train.rollout", "prepare_batch", "wait"), _AREAL),
    NameRow("wait", "slime", ("train_wait",), _SLIME),
    NameRow("wait", "NeMo-RL", ("exposed_generation", "buffer_starvation", "refit_bubble"), _NEMO),
    NameRow("wait", "SkyRL", ("wait_for_generation_buffer",), _SKYRL),
    NameRow("wait", "prime-rl", ("wait_for_batch", "wait_for_policy"), _PRIME),
    NameRow("wait", "open-instruct", ("trainer_waiting_for_data", "generation_waiting_for_trainer"), _OPEN_INSTRUCT),
    NameRow("wait", "any", ("idle",), "the word itself"),
    NameRow("other", "any", ("other",), "the word itself"),
)

#: Timers whose name means generation where the Trainer's devices generate, and waiting where they do not
#: (docs/advance/v1_async_trainer.md: `timing_s/gen` of the separated modes is the Trainer's wait).
WAIT_IN_SEPARATED: frozenset[str] = frozenset({"gen"})

#: AReaL serves version n + 1 once the weights of step n are sent (areal/trainer/rl_trainer.py, set_version).
VERSION_MARKERS: Mapping[str, int] = {"train.update_weights": 1, "distill_train.update_weights": 1}

_ACTIVITIES: Mapping[str, Activity] = {name: row.activity for row in reversed(NAME_ROWS) for name in row.names}

_CALL = re.compile(r"^(?:ray::|task::?)|\(.*\)$")
_NUMBERED = re.compile(r"(?:[\s_#\[(-]+(?:replica[\s_-]*)?\d+[\])]?)+$")
_WORKER_GROUP = re.compile(r"^(?:actor_rollout_ref_|actor_rollout_|rollout_|actor_|critic_|ref_|rm_)")
_PARTS = re.compile(r"::|[./:]")


@lru_cache(maxsize=4096)
def known_activity(name: str, mode: Mode = "unknown") -> Activity | None:
    """The activity that a raw name stands for in an execution mode; None when no row names it."""
    for form in _forms(name):
        if form in WAIT_IN_SEPARATED and mode in SEPARATED_MODES:
            return "wait"
        if form in _ACTIVITIES:
            return _ACTIVITIES[form]
    return None


def activity_of(name: str, mode: Mode = "unknown") -> Activity:
    """The activity that a raw name stands for; "other" when no row names it."""
    return known_activity(name, mode) or "other"


def _forms(name: str) -> list[str]:
    """The name and what remains of it when the parts around it are taken away, from the whole to the smallest."""
    whole = name.strip().lower()
    plain = _CALL.sub("", _CALL.sub("", whole)).strip()
    forms = [whole, plain, _NUMBERED.sub("", plain)]
    last = _PARTS.split(plain)[-1].strip()
    forms += [last, _NUMBERED.sub("", last)]
    forms += [_WORKER_GROUP.sub("", form) for form in forms[3:]]
    return [form for form in dict.fromkeys(forms) if form]


@dataclass(frozen=True, slots=True)
class LaneRow:
    """Lanes whose name begins with a match of a pattern, whatever the case, are of a side; `what` says what they are."""

    pattern: str
    side: LaneSide
    what: str


#: In the order in which they are asked.
LANE_ROWS: tuple[LaneRow, ...] = (
    LaneRow(r"(?:trainer|train|actor|hybrid)[^/]*/replica[_-]?\d", "hybrid", "a replica on the Trainer's devices"),
    LaneRow(r"hybrid", "hybrid", "named so"),
    LaneRow(r"replica[_-]?\d", "rollout", "RL-Insight: an inference replica; rlreport's simulator"),
    LaneRow(r"[^/]*/replica[_-]?\d", "rollout", "a replica within a process"),
    LaneRow(r"rank[_-]?\d", "trainer", "RL-Insight, torch, MSTX, NVTX: a rank of the Trainer"),
    LaneRow(r"(?:roll|driver|pipeline|controller|main|taskrunner)(?:\W|_|$)", "unknown", "a driver: it sees all sides"),
    LaneRow(r"(?:eval[-_]?)?rollout|inference|infer(?:\W|_|$)|generat|sampler", "rollout", "AReaL, ROLL, prime-rl: by role"),
    LaneRow(r"vllm|sglang|trtllm|asyncvllm|asyncsglang|llmserver|agentloop", "rollout", "an inference server or its client"),
    LaneRow(r"fullyasyncrollouter|rolloutmanager|rolloutworker|streamingrollout", "rollout", "verl, slime: by class"),
    LaneRow(r"actor_infer", "rollout", "ROLL: the policy's inference cluster"),
    LaneRow(r"actor|critic|learner|policy|trainer|train(?:\W|_|$)|reference", "trainer", "AReaL, ROLL, SkyRL: by role"),
    LaneRow(r"fullyasynctrainer|workerdict|megatrontrain|fsdpworker|trainingworker", "trainer", "verl, slime: by class"),
)

_LANE_PATTERNS = tuple((re.compile(row.pattern, re.IGNORECASE), row) for row in LANE_ROWS)


def lane_row(name: str) -> LaneRow | None:
    """The row that names a lane; None when none does."""
    return next((row for pattern, row in _LANE_PATTERNS if pattern.match(name)), None)


#: How the name of a gauge begins that counts spans which are open at once (collectors/spans/chrome_async.py).
OPEN_PREFIX = "open:"
#: Raw quantities -> canonical gauges.
GAUGE_NAMES: Mapping[str, str] = {
    "vllm:num_requests_running": "rollout.active_requests",
    "vllm:num_requests_waiting": "rollout.waiting_requests",
    "vllm:kv_cache_usage_perc": "rollout.kv_cache_usage",
    "vllm:gpu_cache_usage_perc": "rollout.kv_cache_usage",
    "sglang:num_running_reqs": "rollout.active_requests",
    "sglang:num_queue_reqs": "rollout.waiting_requests",
    "sglang:token_usage": "rollout.kv_cache_usage",
    "rl_insight_monitor_training_global_step": "progress.steps",
}


def gauge_name(name: str) -> str:
    """The canonical name of a quantity; its own where no row names it.

    "open:<name>" counts asynchronous spans that are open at once: those that generate are requests.
    """
    if name.startswith(OPEN_PREFIX) and activity_of(name.removeprefix(OPEN_PREFIX)) == "generate":
        return "rollout.active_requests"
    return GAUGE_NAMES.get(name, name)

"""The configuration that a verl run of a scenario would print: what follows from the scenario, and verl's usual values.

Key names are verl's (verl/trainer/config/*.yaml, Megatron backend); a real dump has more keys, all that this project's
dialect reads are here. What the experimental trainers have of their own is in `verl_config_modes`. `Scenario.config` sets
any key by its dotted name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from rlreport.simulator.output_names import OutputName
from rlreport.simulator.scenario import Scenario
from rlreport.simulator.verl_config_modes import mode_values
from rlreport.simulator.verl_metrics import IS_THRESHOLD, LEARNING_RATE

Tree = dict[str, Any]

#: Modes of the V1 trainer (trainer.v1.trainer_mode); the others have trainers of their own and carry V1's defaults.
V1_MODES = ("sync", "colocate_async", "separate_async")

#: Since this day separate_async has a hybrid switch (verl pull request 7373).
HYBRID_ROLLOUT_SINCE = dt.date(2026, 8, 21)

#: verl's loggers (trainer.logger) that write an output.
LOGGERS: Mapping[OutputName, str] = {
    "console": "console",
    "jsonl": "file",
    "tensorboard": "tensorboard",
    "rl-insight": "rl_insight",
}


def verl_config(scenario: Scenario) -> Tree:
    """The whole configuration as nested dictionaries, as `OmegaConf.to_container(config, resolve=True)` gives it."""
    tree: Tree = {
        "actor_rollout_ref": {
            "actor": _actor(scenario),
            "hybrid_engine": True,
            "model": _model(scenario),
            "nccl_timeout": 1800,
            "ref": _ref(scenario),
            "rollout": _rollout(scenario),
        },
        "algorithm": _algorithm(scenario),
        "critic": {"enable": None, "optim": {"lr": 1e-05, "weight_decay": 0.01}, "strategy": "megatron"},
        "custom_reward_function": {"name": "compute_score", "path": None},
        "data": _data(scenario),
        "global_profiler": {"profile_continuous_steps": False, "save_path": "outputs/profile", "steps": None, "tool": None},
        "model_engine": "megatron",
        "ray_kwargs": {"ray_init": {"num_cpus": None}, "timeline_json_file": None},
        "reward": {
            "num_workers": 8,
            "reward_manager": {"name": "dapo", "source": "register"},
            "reward_model": {"enable": False, "enable_resource_pool": False, "n_gpus_per_node": 8, "nnodes": 0},
        },
        "trainer": _trainer(scenario),
        "transfer_queue": {
            "backend": {"SimpleStorage": {"num_data_storage_units": 8, "total_storage_size": 100000}},
            "enable": True,
            "metrics": {"enabled": False},
        },
    }
    for key, value in {**mode_values(scenario), **scenario.config}.items():
        _set(tree, key, value)
    return tree


def _actor(scenario: Scenario) -> Tree:
    trainer = scenario.trainer
    return {
        "checkpoint": {
            "async_save": False,
            "load_contents": ["model", "optimizer", "extra"],
            "save_contents": ["model", "optimizer", "extra"],
        },
        "clip_ratio": 0.2,
        "clip_ratio_c": 10.0,
        "clip_ratio_high": 0.28,
        "clip_ratio_low": 0.2,
        "data_loader_seed": 42,
        "entropy_coeff": 0,
        "freeze_vision_tower": False,
        "grad_clip": 1.0,
        "kl_loss_coef": 0.001,
        "kl_loss_type": "low_var_kl",
        "load_weight": True,
        "loss_agg_mode": "token-mean",
        "megatron": _megatron(scenario),
        "optim": {
            "betas": [0.9, 0.999],
            "clip_grad": 1.0,
            "lr": LEARNING_RATE,
            "lr_decay_style": "constant",
            "lr_warmup_steps": 10,
            "lr_warmup_steps_ratio": 0.0,
            "min_lr": 0.0,
            "optimizer": "adam",
            "total_training_steps": scenario.steps,
            "weight_decay": 0.1,
        },
        "policy_loss": {"loss_mode": "gspo"},
        "ppo_epochs": 1,
        "ppo_max_token_len_per_gpu": trainer.token_budget_per_rank,
        "ppo_micro_batch_size": None,
        "ppo_micro_batch_size_per_gpu": None,
        "ppo_mini_batch_size": trainer.mini_batch_prompts,
        "profiler": {"all_ranks": False, "enable": False, "ranks": [], "save_path": "outputs/profile", "tool": None},
        "rollout_n": scenario.workload.samples_per_prompt,
        "router_replay": {"mode": "disabled", "record_file": None, "replay_file": None},
        "shuffle": False,
        "strategy": "megatron",
        "use_dynamic_bsz": True,
        "use_fused_kernels": False,
        "use_kl_loss": False,
        "use_torch_compile": False,
    }


def _megatron(scenario: Scenario) -> Tree:
    return {
        "context_parallel_size": 1,
        "dtype": "bfloat16",
        "expert_model_parallel_size": 8,
        "expert_tensor_parallel_size": 1,
        "grad_offload": True,
        "optimizer_offload": True,
        "param_offload": True,
        "pipeline_model_parallel_size": 1,
        "seed": 42,
        "sequence_parallel": True,
        "tensor_model_parallel_size": scenario.trainer.model_parallel_devices,
        "use_distributed_optimizer": True,
        "use_mbridge": True,
        "virtual_pipeline_model_parallel_size": None,
    }


def _model(scenario: Scenario) -> Tree:
    return {
        "enable_activation_offload": False,
        "enable_gradient_checkpointing": True,
        "external_lib": None,
        "lora_alpha": 16,
        "lora_rank": 0,
        "mtp": {"enable": False, "enable_rollout": False, "enable_train": False},
        "override_config": {},
        "path": f"/models/{scenario.policy.name}",
        "tokenizer_path": None,
        "trust_remote_code": False,
        "use_fused_kernels": False,
        "use_liger": False,
        "use_remove_padding": True,
        "use_shm": False,
    }


def _ref(scenario: Scenario) -> Tree:
    return {
        "log_prob_max_token_len_per_gpu": scenario.trainer.token_budget_per_rank,
        "log_prob_micro_batch_size_per_gpu": None,
        "log_prob_use_dynamic_bsz": True,
        "strategy": "megatron",
        "use_torch_compile": False,
    }


def _rollout(scenario: Scenario) -> Tree:
    workload, rollout = scenario.workload, scenario.rollout
    separate = scenario.mode == "separate_async"
    backend = {"cuda": "nccl", "npu": "hccl"}[scenario.cluster.device]
    return {
        "agent": {"agent_loop_config_path": None, "default_agent_loop": "single_turn_agent", "num_workers": 16},
        "calculate_log_probs": True,
        "checkpoint_engine": {
            "backend": backend if separate else "naive",
            "engine_kwargs": {},
            "update_weights_bucket_megabytes": 3072,
        },
        "data_parallel_size": 1,
        "disable_log_stats": True,
        "do_sample": True,
        "dtype": "bfloat16",
        "enable_chunked_prefill": True,
        "enable_prefix_caching": True,
        "enforce_eager": False,
        "expert_parallel_size": 1,
        "free_cache_engine": True,
        "gpu_memory_utilization": 0.8 if separate else 0.6,
        "ignore_eos": False,
        "load_format": "dummy",
        "log_prob_max_token_len_per_gpu": scenario.trainer.token_budget_per_rank,
        "log_prob_micro_batch_size_per_gpu": None,
        "log_prob_use_dynamic_bsz": True,
        "max_model_len": workload.max_prompt_tokens + workload.max_response_tokens,
        "max_num_batched_tokens": 8192,
        "max_num_seqs": rollout.max_sequences,
        "mode": "async",
        "multi_turn": {"enable": False, "max_assistant_turns": None, "max_user_turns": None},
        "n": workload.samples_per_prompt,
        "n_gpus_per_node": scenario.cluster.devices_per_node,
        "name": "vllm",
        "nnodes": scenario.cluster.rollout_nodes,
        "pipeline_model_parallel_size": 1,
        "prompt_length": workload.max_prompt_tokens,
        "response_length": workload.max_response_tokens,
        "seed": 0,
        "temperature": 1.0,
        "tensor_model_parallel_size": rollout.devices_per_replica,
        "top_k": -1,
        "top_p": 1.0,
        "trace": {"backend": None, "token2text": False},
        "val_kwargs": {"do_sample": True, "n": 16, "temperature": 1.0, "top_k": -1, "top_p": 0.7},
    }


def _algorithm(scenario: Scenario) -> Tree:
    return {
        "adv_estimator": "grpo",
        "filter_groups": {"enable": False, "max_num_gen_batches": 0, "metric": None},
        "gamma": 1.0,
        "kl_ctrl": {"horizon": 10000, "kl_coef": 0.001, "target_kl": 0.1, "type": "fixed"},
        "kl_penalty": "kl",
        "lam": 1.0,
        "norm_adv_by_std_in_grpo": True,
        "rollout_correction": {
            "bypass_mode": not scenario.trainer.recompute_old_log_prob,
            "loss_type": "ppo_clip",
            "rollout_is": "token",
            "rollout_is_batch_normalize": False,
            "rollout_is_threshold": IS_THRESHOLD,
            "rollout_rs": None,
            "rollout_rs_threshold": None,
        },
        "use_kl_in_reward": False,
    }


def _data(scenario: Scenario) -> Tree:
    workload = scenario.workload
    return {
        "custom_cls": {"name": None, "path": None},
        "dataloader_num_workers": 8,
        "filter_overlong_prompts": True,
        "gen_batch_size": 1,
        "max_prompt_length": workload.max_prompt_tokens,
        "max_response_length": workload.max_response_tokens,
        "prompt_key": "prompt",
        "return_raw_chat": True,
        "reward_fn_key": "data_source",
        "seed": 42,
        "shuffle": True,
        "train_batch_size": workload.prompts_per_step,
        "train_files": ["/data/math-train.parquet"],
        "truncation": "left",
        "val_batch_size": None,
        "val_files": ["/data/math-validation.parquet"],
    }


def _trainer(scenario: Scenario) -> Tree:
    schedule, sync = scenario.schedule, scenario.sync
    return {
        "balance_batch": True,
        "critic_warmup": 0,
        "default_local_dir": f"checkpoints/{scenario.framework.project}/{experiment_name(scenario)}",
        "device": scenario.cluster.device,
        "esi_redundant_time": 0,
        "experiment_name": experiment_name(scenario),
        "log_val_generations": 0,
        "logger": [LOGGERS[name] for name in scenario.outputs if name in LOGGERS],
        "n_gpus_per_node": scenario.cluster.devices_per_node,
        "nnodes": scenario.cluster.trainer_nodes,
        "project_name": scenario.framework.project,
        "resume_mode": "auto",
        "rollout_data_dir": "rollouts" if "rollouts" in scenario.outputs else None,
        "save_freq": schedule.checkpoint_every_steps or -1,
        "test_freq": schedule.validate_every_steps or -1,
        "total_epochs": 30,
        "total_training_steps": scenario.steps,
        "use_v1": True,
        "v1": {
            "colocate_async": {
                "num_warmup_batches": _plain(scenario.sync.warmup_batches) if scenario.mode == "colocate_async" else 1
            },
            "sampler": {
                "custom_sampler": {"name": None, "path": None},
                "max_off_policy_strategy": "drop",
                "max_off_policy_threshold": sync.max_off_policy_threshold,
                "sync_refill_failed_groups": False,
            },
            "separate_async": _separate_async(scenario),
            "trainer_mode": scenario.mode if scenario.mode in V1_MODES else "sync",
        },
        "val_before_train": schedule.validate_before_training,
        "val_only": False,
        "validation_data_dir": None,
    }


def _separate_async(scenario: Scenario) -> Tree:
    separate = scenario.mode == "separate_async"
    hybrid = scenario.hybrid
    tree: Tree = {
        "num_warmup_batches": _plain(scenario.sync.warmup_batches) if separate else 1,
        "parameter_sync_step": scenario.updates_per_step if separate else 4,
    }
    if scenario.framework.version >= HYBRID_ROLLOUT_SINCE:
        tree["hybrid_rollout"] = {
            "adaptive_switch_threshold": hybrid.adaptive_switch_threshold,
            "enable_switch": hybrid.enable_switch,
            "switch_cost_window_size": hybrid.switch_cost_window_size,
            "switch_threshold_ratio": hybrid.switch_threshold_ratio,
            "switch_threshold_release_steps": hybrid.switch_threshold_release_steps,
            "switch_threshold_step_down": hybrid.switch_threshold_step_down,
            "switch_threshold_step_up": hybrid.switch_threshold_step_up,
        }
    return tree


def experiment_name(scenario: Scenario) -> str:
    """The run's name in its configuration; it says that the run is simulated."""
    return f"{scenario.name}-simulated"


def _plain(value: float) -> int | float:
    """A whole number prints without its fraction, as it was given on verl's command line."""
    return int(value) if value == int(value) else value


def _set(tree: Tree, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[last] = value

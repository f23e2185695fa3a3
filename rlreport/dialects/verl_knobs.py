"""What ties verl's configuration keys together: sections, parts that do not run, the training backend, repeated keys.

The keys themselves stand in `verl_knob_rows`, the arithmetic between them in `verl_knob_invariants`.
"""

from __future__ import annotations

from rlreport.dialects.verl_knob_invariants import INVARIANTS, QUANTITIES
from rlreport.dialects.verl_knob_rows import KNOB_ROWS
from rlreport.run.knobs import Backend, Condition, InertPart, KnobClass, KnobRules, ModePart

_A = "actor_rollout_ref.actor"
_R = "actor_rollout_ref.rollout"
_V1 = "trainer.v1"
_OFF = (False, None)

#: The class of keys that no row lists, by section; the first that matches. Never identity.
SECTIONS: tuple[tuple[str, KnobClass], ...] = (
    ("data.**", "workload"),
    ("**.optim.**", "algorithm"),
    ("**.fsdp_config.**", "engine"),
    ("**.megatron.**", "engine"),
    ("actor_rollout_ref.model.**", "workload"),
    ("actor_rollout_ref.rollout.**", "engine"),
    ("actor_rollout_ref.ref.**", "engine"),
    ("actor_rollout_ref.actor.**", "algorithm"),
    ("actor_rollout_ref.**", "engine"),
    ("rollout.**", "work"),
    ("async_training.**", "off-policy"),
    ("transfer_queue.**", "engine"),
    ("trainer.**", "schedule"),
    ("global_profiler.**", "environment"),
    ("sandbox_fusion.**", "engine"),
    ("**", "algorithm"),
)

#: Keys of parts that do not run under the given conditions: they differ without changing anything.
INERT: tuple[InertPart, ...] = (
    InertPart("names of configuration classes", ("**._target_",)),
    InertPart(
        "critic",
        ("critic.**",),
        (
            Condition("critic.enable", (True,), negated=True),
            Condition("algorithm.adv_estimator", ("gae", None), negated=True),
        ),
    ),
    InertPart(
        "reference policy",
        ("actor_rollout_ref.ref.**",),
        (Condition(f"{_A}.use_kl_loss", _OFF), Condition("algorithm.use_kl_in_reward", _OFF)),
    ),
    InertPart(
        "reward model",
        (
            "reward_model.model.**",
            "reward_model.megatron.**",
            "reward_model.rollout.**",
            "reward_model.strategy",
            "reward_model.load_weight",
            "reward_model.nccl_timeout",
            "reward_model.max_length",
            "reward_model.use_dynamic_bsz",
            "reward_model.*batch_size*",
            "reward_model.*token_len*",
            "reward_model.*parallel_size",
        ),
        (Condition("reward_model.enable", _OFF),),
    ),
    InertPart("reward model", ("reward.reward_model.**",), (Condition("reward.reward_model.enable", _OFF),)),
    InertPart("distillation", ("distillation.**",), (Condition("distillation.enabled", _OFF),)),
    InertPart("multi-turn", (f"{_R}.multi_turn.**",), (Condition(f"{_R}.multi_turn.enable", _OFF),)),
    InertPart("KL loss", (f"{_A}.kl_loss_*",), (Condition(f"{_A}.use_kl_loss", _OFF),)),
    InertPart(
        "KL in the reward",
        ("algorithm.kl_ctrl.**", "algorithm.kl_penalty"),
        (Condition("algorithm.use_kl_in_reward", _OFF),),
    ),
    InertPart("filtering of groups", ("algorithm.filter_groups.*",), (Condition("algorithm.filter_groups.enable", _OFF),)),
    InertPart("preference-feedback PPO", ("algorithm.pf_ppo.**",), (Condition("algorithm.use_pf_ppo", _OFF),)),
    InertPart(
        "importance sampling",
        ("algorithm.rollout_correction.rollout_is_*",),
        (Condition("algorithm.rollout_correction.rollout_is", (None,)),),
    ),
    InertPart(
        "rejection sampling",
        ("algorithm.rollout_correction.rollout_rs_*",),
        (Condition("algorithm.rollout_correction.rollout_rs", (None,)),),
    ),
    InertPart(
        "other policy losses",
        (f"{_A}.policy_loss.clip_cov_*", f"{_A}.policy_loss.kl_cov_*", f"{_A}.policy_loss.ppo_kl_coef"),
        (Condition(f"{_A}.policy_loss.loss_mode", ("vanilla", None)),),
    ),
    InertPart("micro-batches by number", (f"{_A}.ppo_micro_batch_size*",), (Condition(f"{_A}.use_dynamic_bsz", (True,)),)),
    InertPart("micro-batches by tokens", (f"{_A}.ppo_max_token_len_per_gpu",), (Condition(f"{_A}.use_dynamic_bsz", _OFF),)),
    InertPart(
        "micro-batches by number",
        (f"{_R}.log_prob_micro_batch_size*",),
        (Condition(f"{_R}.log_prob_use_dynamic_bsz", (True,)),),
    ),
    InertPart(
        "micro-batches by tokens",
        (f"{_R}.log_prob_max_token_len_per_gpu",),
        (Condition(f"{_R}.log_prob_use_dynamic_bsz", _OFF),),
    ),
    InertPart(
        "hybrid switch",
        (f"{_V1}.separate_async.hybrid_rollout.**",),
        (Condition(f"{_V1}.separate_async.hybrid_rollout.enable_switch", _OFF),),
    ),
    InertPart(
        "dynamic scheduling",
        ("async_training.dynamic_schedule_*",),
        (Condition("async_training.use_dynamic_resource_scheduling", _OFF),),
    ),
    InertPart(
        "partial rollout without staleness",
        ("async_training.partial_rollout",),
        (Condition("async_training.staleness_threshold", (0,)),),
    ),
    InertPart("profiler", ("global_profiler.**", "**.profiler.**"), (Condition("global_profiler.steps", (None,)),)),
    InertPart(
        "profiler", (f"{_A}.profile.**", "actor_rollout_ref.ref.profile.**"), (Condition(f"{_A}.profile.use_profile", _OFF),)
    ),
    InertPart(
        "multi-token prediction",
        ("actor_rollout_ref.model.mtp.**", f"{_R}.mtp.**"),
        (Condition("actor_rollout_ref.model.mtp.enable", _OFF),),
    ),
    InertPart("prefill and decode apart", (f"{_R}.disaggregation.**",), (Condition(f"{_R}.disaggregation.enabled", _OFF),)),
    InertPart("skipped generation", ("skip.rollout.**",), (Condition("skip.rollout.enable", _OFF),)),
    InertPart("skipped generation", ("skip.async_rollout.**",), (Condition("skip.async_rollout.enable", _OFF),)),
    InertPart("skipped generation", ("skip.rollout_tq.**",), (Condition("skip.rollout_tq.enable", _OFF),)),
    InertPart(
        "length of the run (the learning rate is constant)",
        (
            "trainer.total_epochs",
            "trainer.total_training_steps",
            "**.optim.total_training_steps",
            "rollout.total_rollout_steps",
        ),
        (
            Condition(f"{_A}.optim.lr_scheduler_type", ("constant", None)),
            Condition(f"{_A}.optim.warmup_style", ("constant", None)),
            Condition(f"{_A}.optim.lr_decay_style", ("constant", None)),
            Condition(f"{_A}.optim.lr_warmup_steps_ratio", (0, None)),
        ),
    ),
)

#: Keys that follow from the execution mode.
MODE_PARTS: tuple[ModePart, ...] = (
    ModePart("fully async settings", ("async_training.**",), ("fully_async",)),
    ModePart("Rollouter settings", ("rollout.**",), ("fully_async", "one_step_off")),
    ModePart("separate async settings", (f"{_V1}.separate_async.**",), ("separate_async",)),
    ModePart("colocate async settings", (f"{_V1}.colocate_async.**",), ("colocate_async",)),
    ModePart(
        "Rollout devices", (f"{_R}.nnodes", f"{_R}.n_gpus_per_node"), ("separate_async", "fully_async", "one_step_off")
    ),
    ModePart("train batch", ("data.train_batch_size",), ("sync", "colocate_async", "separate_async", "one_step_off")),
    ModePart(
        "values that a mode forces",
        (
            "data.gen_batch_size",
            "actor_rollout_ref.hybrid_engine",
            f"{_R}.checkpoint_engine.backend",
            f"{_R}.calculate_log_probs",
            f"{_A}.use_rollout_log_probs",
        ),
        (),
    ),
)

#: The keys of which one is enough to know a fact that a comparison needs.
FACTS: dict[str, tuple[str, ...]] = {
    "node count": ("trainer.nnodes",),
    "model": ("actor_rollout_ref.model.path",),
    "training data": ("data.train_files",),
}

_OPTIM = f"{_A}.optim"

BACKENDS: tuple[Backend, ...] = (
    Backend(
        "training backend",
        f"{_A}.strategy",
        own=(
            "**.fsdp_config.**",
            "**.megatron.**",
            "**.veomni.**",
            "**.torchtitan.**",
            "**._target_",
            "**.ulysses_sequence_parallel_size",
            "**.entropy_checkpointing",
            "**.entropy_from_logits_*",
            "**.load_weight",
            "**.layer_name_map.**",
            "**.gradient_checkpointing_kwargs.**",
            "**.override_config.**",
            "**.override_config",
            "**.nccl_timeout",
        ),
        follows=("**.strategy", f"{_R}.load_format", "model_engine"),
        spellings=(
            (f"{_OPTIM}.warmup_style", f"{_OPTIM}.lr_scheduler_type", f"{_OPTIM}.lr_decay_style"),
            (f"{_A}.grad_clip", f"{_OPTIM}.clip_grad"),
        ),
        alike=(("fsdp", "fsdp2"),),
    ),
)

#: Keys whose value repeats another key's (references in verl/trainer/config/*.yaml): the same knob under a second name.
DERIVED: tuple[tuple[str, str], ...] = (
    (f"{_A}.rollout_n", f"{_R}.n"),
    ("critic.rollout_n", f"{_R}.n"),
    ("actor_rollout_ref.ref.rollout_n", f"{_R}.n"),
    ("rollout.n", f"{_R}.n"),
    (f"{_R}.nnodes", "rollout.nnodes"),
    (f"{_R}.n_gpus_per_node", "rollout.n_gpus_per_node"),
    (f"{_R}.prompt_length", "data.max_prompt_length"),
    (f"{_R}.response_length", "data.max_response_length"),
    (f"{_R}.log_prob_max_token_len_per_gpu", f"{_A}.ppo_max_token_len_per_gpu"),
    ("actor_rollout_ref.ref.log_prob_max_token_len_per_gpu", f"{_A}.ppo_max_token_len_per_gpu"),
    (f"{_R}.log_prob_use_dynamic_bsz", f"{_A}.use_dynamic_bsz"),
    ("actor_rollout_ref.ref.log_prob_use_dynamic_bsz", f"{_A}.use_dynamic_bsz"),
    ("critic.ppo_mini_batch_size", f"{_A}.ppo_mini_batch_size"),
    ("critic.use_dynamic_bsz", f"{_A}.use_dynamic_bsz"),
    ("critic.ppo_epochs", f"{_A}.ppo_epochs"),
    (f"{_A}.optim.total_training_steps", "trainer.total_training_steps"),
    (f"{_A}.fsdp_config.strategy", f"{_A}.strategy"),
    (f"{_A}.fsdp_config.ulysses_sequence_parallel_size", f"{_A}.ulysses_sequence_parallel_size"),
    ("actor_rollout_ref.ref.strategy", f"{_A}.strategy"),
    ("critic.strategy", f"{_A}.strategy"),
    ("reward_model.strategy", f"{_A}.strategy"),
    ("**.tokenizer_path", "actor_rollout_ref.model.path"),
    ("**.input_tokenizer", "actor_rollout_ref.model.path"),
    (f"{_A}.data_loader_seed", "data.seed"),
    ("**.use_remove_padding", "actor_rollout_ref.model.use_remove_padding"),
    ("**.use_fused_kernels", "actor_rollout_ref.model.use_fused_kernels"),
    ("trainer.v1.trainer_mode", "execution.mode"),
    ("trainer.use_v1", "execution.mode"),
)

#: Names for products of keys, used in invariants.
VARIABLES: dict[str, tuple[str, ...]] = {
    "devices.trainer": ("trainer.nnodes", "trainer.n_gpus_per_node"),
    "devices.rollout": (f"{_R}.nnodes", f"{_R}.n_gpus_per_node", "rollout.nnodes", "rollout.n_gpus_per_node"),
}

#: Keys that every full dump of verl's configuration has.
CORE: tuple[str, ...] = (
    "actor_rollout_ref.model.path",
    f"{_A}.clip_ratio",
    f"{_A}.ppo_epochs",
    f"{_A}.ppo_mini_batch_size",
    f"{_R}.gpu_memory_utilization",
    f"{_R}.n",
    f"{_R}.temperature",
    "algorithm.adv_estimator",
    "algorithm.gamma",
    "data.max_response_length",
    "data.train_batch_size",
    "trainer.nnodes",
    "trainer.save_freq",
)

#: The keys that decide how many samples and tokens a step trains on.
STEP_WORK: tuple[str, ...] = (
    f"{_R}.n",
    "rollout.n",
    "data.train_batch_size",
    f"{_A}.ppo_mini_batch_size",
    f"{_V1}.separate_async.parameter_sync_step",
    "async_training.require_batches",
    "async_training.trigger_parameter_sync_step",
    "data.max_prompt_length",
    "data.max_response_length",
    "data.train_files",
)

VERL_RULES = KnobRules(
    rows=KNOB_ROWS,
    sections=SECTIONS,
    inert=INERT,
    mode_parts=MODE_PARTS,
    invariants=INVARIANTS,
    backends=BACKENDS,
    derived=DERIVED,
    variables=VARIABLES,
    core=CORE,
    quantities=QUANTITIES,
    facts=FACTS,
    step_work=STEP_WORK,
)

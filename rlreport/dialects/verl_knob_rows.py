"""The table of verl's configuration keys: class, label, unit and default of every key that matters.

Rows stand in the order in which a reader wants to see differences. A pattern's `*` is text within one part of a key, `**`
any number of parts; the most specific pattern wins. Defaults are those of verl/trainer/config/*.yaml and
verl/experimental/fully_async_policy/config at 1dda039b9; several where versions or modes differ.

Two calls that are not obvious: the training backend and its efficiency settings are `engine`, their parallel sizes
`resources`; profilers, traces and metric exporters are `environment`, because they change speed and nobody tunes by them.
"""

from __future__ import annotations

from typing import Any

from rlreport.run.knobs import KnobClass, KnobRow, ValueKind

_A = "actor_rollout_ref.actor"
_R = "actor_rollout_ref.rollout"
_M = "actor_rollout_ref.model"
_V1 = "trainer.v1"


def _row(pattern: str, knob_class: KnobClass, label: str, *defaults: Any, **more: Any) -> KnobRow:
    return KnobRow(pattern, knob_class, label, defaults=defaults, **more)


def _files(pattern: str, knob_class: KnobClass, label: str, kind: ValueKind = "files") -> KnobRow:
    return KnobRow(pattern, knob_class, label, kind=kind)


_CHOICES = (
    _row("execution.mode", "schedule", "execution mode"),
    _row(f"{_A}.strategy", "engine", "training backend", "fsdp"),
    _row("**.strategy", "engine", "training backend of a part"),
    _row("model_engine", "engine", "model engine", "dp"),
    _row(f"{_R}.name", "engine", "inference engine", "vllm", None),
    _row(f"{_V1}.trainer_mode", "schedule", "execution mode", "sync"),
    _row("trainer.use_v1", "schedule", "V1 trainer"),
    _row(f"{_R}.mode", "engine", "inference engine mode", "async", "sync"),
    _row("actor_rollout_ref.hybrid_engine", "engine", "hybrid engine", True),
)

_WORKLOAD = (
    _files("data.train_files", "workload", "train files"),
    _files("data.val_files", "workload", "validation files"),
    _files(f"{_M}.path", "workload", "model", "model"),
    _files(f"{_M}.tokenizer_path", "workload", "tokenizer", "model"),
    _files("critic.model.path", "workload", "critic model", "model"),
    _files("critic.model.tokenizer_path", "workload", "critic tokenizer", "model"),
    _files("**.model.path", "workload", "model of a part", "model"),
    _files("**.input_tokenizer", "workload", "reward model tokenizer", "model"),
    _files(f"{_M}.lora_adapter_path", "workload", "LoRA adapter", "model"),
    _row(f"{_M}.lora_rank", "workload", "LoRA rank", 0),
    _row(f"{_M}.lora_alpha", "workload", "LoRA alpha", 16),
    _row(f"{_M}.target_modules", "workload", "LoRA target modules", "all-linear"),
    _row("data.max_prompt_length", "workload", "longest prompt", 512, unit="tokens"),
    _row("data.max_response_length", "workload", "longest response", 512, unit="tokens"),
    _row(f"{_R}.prompt_length", "workload", "longest prompt in the engine", unit="tokens"),
    _row(f"{_R}.response_length", "workload", "longest response in the engine", unit="tokens"),
    _row(f"{_R}.temperature", "workload", "temperature", 1.0),
    _row(f"{_R}.top_p", "workload", "top p", 1, 1.0),
    _row(f"{_R}.top_k", "workload", "top k", -1),
    _row(f"{_R}.do_sample", "workload", "sampling", True),
    _row(f"{_R}.ignore_eos", "workload", "generating past the end", False),
    _row(f"{_R}.val_kwargs.temperature", "workload", "temperature of validation", 0, 0.0),
    _row(f"{_R}.val_kwargs.top_p", "workload", "top p of validation", 1.0),
    _row(f"{_R}.val_kwargs.top_k", "workload", "top k of validation", -1),
    _row(f"{_R}.val_kwargs.n", "workload", "samples of validation", 1, unit="samples"),
    _row(f"{_R}.val_kwargs.do_sample", "workload", "sampling of validation", False),
    _row(f"{_R}.multi_turn.enable", "workload", "multi-turn", False),
    _row(f"{_R}.multi_turn.**", "workload", "multi-turn setting"),
    _row(f"{_R}.agent.default_agent_loop", "workload", "agent loop", "single_turn_agent"),
    _row("data.shuffle", "workload", "shuffling", True),
    _row("data.train_max_samples", "workload", "train samples used", -1),
    _row("data.val_max_samples", "workload", "validation samples used", -1),
    _row("data.filter_overlong_prompts", "workload", "filtering long prompts", False),
    _row("data.truncation", "workload", "truncation", "error"),
    _row("data.validation_shuffle", "workload", "shuffling of validation", False),
    _row("data.image_key", "workload", "image column", "images"),
    _row("data.video_key", "workload", "video column", "videos"),
    _row("data.filter_overlong_prompts_workers", "engine", "data filter workers"),
    _row("data.dataloader_num_workers", "engine", "data loader workers", 8),
    _row("data.use_shm", "engine", "data in shared memory", False),
    _row("data.val_batch_size", "schedule", "validation batch", None),
    _files("custom_reward_function.path", "algorithm", "reward function"),
    _files("reward.custom_reward_function.path", "algorithm", "reward function"),
    _files("trainer.resume_from_path", "workload", "checkpoint resumed from", "path"),
    _row("skip.**", "workload", "skipped generation"),
)

_RESOURCES = (
    _row("devices.trainer", "resources", "Trainer devices", unit="devices"),
    _row("devices.rollout", "resources", "Rollout devices", unit="devices"),
    _row("trainer.nnodes", "resources", "Trainer nodes", 1, unit="nodes"),
    _row("trainer.n_gpus_per_node", "resources", "Trainer devices a node", 8, unit="devices"),
    _row(f"{_R}.nnodes", "resources", "Rollout nodes", 0, unit="nodes"),
    _row(f"{_R}.n_gpus_per_node", "resources", "Rollout devices a node", unit="devices"),
    _row("rollout.nnodes", "resources", "Rollout nodes", 1, unit="nodes"),
    _row("rollout.n_gpus_per_node", "resources", "Rollout devices a node", 8, unit="devices"),
    _row(f"{_R}.tensor_model_parallel_size", "resources", "tensor parallel size of an engine", 2),
    _row(f"{_R}.pipeline_model_parallel_size", "resources", "pipeline parallel size of an engine", 1),
    _row(f"{_R}.data_parallel_size", "resources", "data parallel size of an engine", 1),
    _row(f"{_R}.expert_parallel_size", "resources", "expert parallel size of an engine", 1),
    _row(f"{_R}.disaggregation.**", "resources", "prefill and decode apart"),
    _row(f"{_A}.ulysses_sequence_parallel_size", "resources", "sequence parallel size", 1),
    _row("**.ulysses_sequence_parallel_size", "resources", "sequence parallel size of a part", 1),
    _row("**.fsdp_size", "resources", "FSDP group size", -1),
    _row(f"{_A}.megatron.*_parallel_size", "resources", "Megatron parallel size"),
    _row("**.megatron.*_parallel_size", "resources", "Megatron parallel size of a part"),
    _row("**.enable_resource_pool", "resources", "pool of its own", False),
    _row("**.reward_model.nnodes", "resources", "reward model nodes", 0, unit="nodes"),
    _row("**.reward_model.n_gpus_per_node", "resources", "reward model devices a node", 8, unit="devices"),
    _row("distillation.nnodes", "resources", "teacher nodes", 0, unit="nodes"),
    _row("distillation.n_gpus_per_node", "resources", "teacher devices a node", 8, unit="devices"),
)

_WORK = (
    _row("data.train_batch_size", "work", "train batch", 1024, unit="prompts"),
    _row("data.gen_batch_size", "work", "generation batch", None, 1, unit="prompts"),
    _row(f"{_A}.ppo_mini_batch_size", "work", "mini-batch", 256, unit="prompts"),
    _row(f"{_R}.n", "work", "samples per prompt", 1, 4, unit="samples"),
    _row("rollout.n", "work", "samples per prompt", 4, unit="samples"),
    _row(f"{_A}.ppo_micro_batch_size_per_gpu", "work", "micro-batch per device", None, unit="samples"),
    _row(f"{_A}.ppo_micro_batch_size", "work", "micro-batch (old key)", None, unit="samples"),
    _row(f"{_A}.use_dynamic_bsz", "work", "micro-batches by tokens", False),
    _row(f"{_A}.ppo_max_token_len_per_gpu", "work", "tokens of a micro-batch per device", 16384, unit="tokens"),
    _row(f"{_R}.log_prob_micro_batch_size_per_gpu", "work", "micro-batch of log-probabilities", None, unit="samples"),
    _row(f"{_R}.log_prob_*", "work", "work of log-probabilities"),
    _row("actor_rollout_ref.ref.log_prob_*", "work", "work of reference log-probabilities"),
    _row("critic.*batch_size*", "work", "critic batch"),
    _row("critic.*max_token_len_per_gpu", "work", "critic tokens per device"),
    _row("critic.use_dynamic_bsz", "work", "critic micro-batches by tokens"),
    _row("async_training.require_batches", "work", "mini-batches fetched at once", 1),
    _row(f"{_V1}.separate_async.num_warmup_batches", "work", "batches generated ahead", 1, 4),
    _row(f"{_V1}.colocate_async.num_warmup_batches", "work", "batches generated ahead", 1),
)

_SYNC = (
    _row(f"{_V1}.separate_async.parameter_sync_step", "sync", "updates between weight syncs", 4),
    _row("async_training.trigger_parameter_sync_step", "sync", "rounds between weight syncs", 4),
    _row(f"{_R}.checkpoint_engine.backend", "sync", "weight-sync backend", "naive"),
    _row(f"{_R}.checkpoint_engine.update_weights_bucket_megabytes", "sync", "weight-sync bucket", 2048, unit="MB"),
    _row(f"{_R}.update_weights_bucket_megabytes", "sync", "weight-sync bucket", unit="MB"),
    _row(f"{_R}.checkpoint_engine.**", "sync", "weight-sync setting"),
    _row(f"{_R}.layered_summon", "sync", "gathering layer by layer", False),
)

_OFF_POLICY = (
    _row("async_training.staleness_threshold", "off-policy", "staleness threshold", 0.1),
    _row("async_training.partial_rollout", "off-policy", "partial rollout", True),
    _row(f"{_V1}.sampler.max_off_policy_threshold", "off-policy", "largest staleness", 8, unit="versions"),
    _row(f"{_V1}.sampler.max_off_policy_strategy", "off-policy", "what happens to stale samples", "drop"),
    _row(f"{_V1}.sampler.**", "off-policy", "sampler setting"),
    _row("algorithm.rollout_correction.bypass_mode", "off-policy", "bypass of old log prob", False, True),
    _row("algorithm.rollout_correction.rollout_is", "off-policy", "importance sampling", None),
    _row("algorithm.rollout_correction.rollout_is_threshold", "off-policy", "importance weight limit", 2.0),
    _row("algorithm.rollout_correction.rollout_rs", "off-policy", "rejection sampling", None),
    _row("algorithm.rollout_correction.rollout_rs_threshold", "off-policy", "rejection limit", None),
    _row("algorithm.rollout_correction.loss_type", "off-policy", "loss of the correction", "ppo_clip"),
    _row("algorithm.rollout_correction.rollout_is_batch_normalize", "off-policy", "normalised weights", False),
    _row("algorithm.rollout_correction.**", "off-policy", "rollout correction"),
    _row(f"{_R}.calculate_log_probs", "off-policy", "log-probabilities of the sampler", True),
    _row(f"{_A}.use_rollout_log_probs", "off-policy", "training on the sampler's log-probabilities"),
)

_SCHEDULE = (
    _row("trainer.test_freq", "schedule", "steps between validations", -1, unit="steps"),
    _row("rollout.test_freq", "schedule", "versions between validations", unit="versions"),
    _row("trainer.val_before_train", "schedule", "validation before training", True),
    _row("trainer.val_only", "schedule", "validation only", False),
    _row("async_training.use_trainer_do_validate", "schedule", "validation on the Trainer's devices", False),
    _row("trainer.save_freq", "schedule", "steps between checkpoints", -1, unit="steps"),
    _row("**.checkpoint.async_save", "schedule", "checkpoints in the background", False),
    _row("**.checkpoint.**", "schedule", "checkpoint contents"),
    _row(f"{_V1}.separate_async.hybrid_rollout.enable_switch", "schedule", "hybrid switch", False),
    _row(f"{_V1}.separate_async.hybrid_rollout.switch_threshold_ratio", "schedule", "hybrid switch threshold", 0.4),
    _row(f"{_V1}.separate_async.hybrid_rollout.adaptive_switch_threshold", "schedule", "adaptive hybrid switch", True),
    _row(f"{_V1}.separate_async.hybrid_rollout.switch_threshold_step_up", "schedule", "hybrid switch step up", 0.05),
    _row(f"{_V1}.separate_async.hybrid_rollout.switch_threshold_step_down", "schedule", "hybrid switch step down", 0.03),
    _row(f"{_V1}.separate_async.hybrid_rollout.**", "schedule", "hybrid switch setting"),
    _row("async_training.use_dynamic_resource_scheduling", "schedule", "dynamic scheduling", False),
    _row("async_training.dynamic_schedule_policy", "schedule", "dynamic scheduling policy", "default"),
    _row("async_training.dynamic_schedule_deactivate_ratio", "schedule", "dynamic scheduling ratio", 0.3),
    _row("async_training.dynamic_schedule_enable_rebalance", "schedule", "dynamic rebalancing", True),
    _row("trainer.total_epochs", "schedule", "epochs", 30, unit="epochs"),
    _row("trainer.total_training_steps", "schedule", "steps planned", None, unit="steps"),
    _row("**.optim.total_training_steps", "schedule", "steps planned of a schedule", -1, same=(-1, None)),
    _row("rollout.total_rollout_steps", "schedule", "samples planned", 100, unit="samples"),
)

_ENGINE = (
    _row(f"{_R}.gpu_memory_utilization", "engine", "memory share of the engine", 0.5),
    _row(f"{_R}.max_num_seqs", "engine", "sequences at a time", 256, 1024),
    _row(f"{_R}.max_num_batched_tokens", "engine", "tokens at a time", 8192, unit="tokens"),
    _row(f"{_R}.max_model_len", "engine", "context of the engine", None, unit="tokens"),
    _row("async_training.concurrent_samples_per_replica", "engine", "samples at a time per replica", 16),
    _row(f"{_R}.enforce_eager", "engine", "eager mode", False, True),
    _row(f"{_R}.enable_prefix_caching", "engine", "prefix caching", True),
    _row(f"{_R}.enable_chunked_prefill", "engine", "chunked prefill", True),
    _row(f"{_R}.free_cache_engine", "engine", "freeing the cache", True),
    _row(f"{_R}.agent.num_workers", "engine", "agent loop workers", 8),
    _row(f"{_R}.load_format", "engine", "weight loading", "dummy", "dummy_dtensor"),
    _row(f"{_R}.dtype", "engine", "number format of the engine", "bfloat16"),
    _row(f"{_R}.quantization", "engine", "quantisation", None),
    _row(f"{_M}.enable_gradient_checkpointing", "engine", "gradient checkpointing", True),
    _row("**.enable_gradient_checkpointing", "engine", "gradient checkpointing of a part"),
    _row("**.enable_activation_offload", "engine", "activation offload", False),
    _row(f"{_A}.fsdp_config.param_offload", "engine", "parameter offload", False),
    _row(f"{_A}.fsdp_config.optimizer_offload", "engine", "optimiser offload", False),
    _row(f"{_A}.megatron.*_offload", "engine", "offload"),
    _row("**.use_remove_padding", "engine", "padding removed", True, False),
    _row("**.use_fused_kernels", "engine", "fused kernels", False),
    _row("**.use_torch_compile", "engine", "torch.compile", True, False),
    _row("**.use_liger", "engine", "Liger kernels", False),
    _row("**.use_shm", "engine", "weights in shared memory", False),
    _row("trainer.balance_batch", "engine", "balancing of batches", True),
    _row("**._target_", "engine", "configuration class"),
    _row("transfer_queue.enable", "engine", "transfer queue"),
    _row("reward.num_workers", "engine", "reward workers"),
    _row("reward_model.num_workers", "engine", "reward workers"),
)

_ALGORITHM = (
    _row("algorithm.adv_estimator", "algorithm", "advantage estimator", "gae"),
    _row(f"{_A}.optim.lr", "algorithm", "learning rate", 1e-6),
    _row(f"{_A}.optim.warmup_style", "algorithm", "learning-rate schedule", "constant", None),
    _row(f"{_A}.optim.lr_scheduler_type", "algorithm", "learning-rate schedule", "constant"),
    _row(f"{_A}.optim.lr_decay_style", "algorithm", "learning-rate schedule", "constant", "linear"),
    _row(f"{_A}.optim.lr_warmup_steps", "algorithm", "warm-up steps", -1, None, same=(-1, None), unit="steps"),
    _row(f"{_A}.optim.lr_warmup_steps_ratio", "algorithm", "warm-up share", 0.0),
    _row(f"{_A}.optim.weight_decay", "algorithm", "weight decay", 0.01),
    _row(f"{_A}.optim.clip_grad", "algorithm", "gradient clip", 1.0),
    _row(f"{_A}.grad_clip", "algorithm", "gradient clip", 1.0),
    _row("**.optim.**", "algorithm", "optimiser setting"),
    _row("**.optim.lr_warmup_steps", "algorithm", "warm-up steps of a part", -1, None, same=(-1, None), unit="steps"),
    _row("**.grad_clip", "algorithm", "gradient clip of a part", 1.0),
    _row(f"{_A}.ppo_epochs", "algorithm", "PPO epochs", 1),
    _row(f"{_A}.clip_ratio", "algorithm", "clip ratio", 0.2),
    _row(f"{_A}.clip_ratio_low", "algorithm", "lower clip ratio", 0.2),
    _row(f"{_A}.clip_ratio_high", "algorithm", "upper clip ratio", 0.2),
    _row(f"{_A}.clip_ratio_c", "algorithm", "dual clip", 3.0),
    _row(f"{_A}.loss_agg_mode", "algorithm", "aggregation of the loss", "token-mean"),
    _row(f"{_A}.policy_loss.loss_mode", "algorithm", "policy loss", "vanilla"),
    _row(f"{_A}.use_kl_loss", "algorithm", "KL loss", False),
    _row(f"{_A}.kl_loss_coef", "algorithm", "KL loss coefficient", 0.001),
    _row(f"{_A}.kl_loss_type", "algorithm", "KL loss estimator", "low_var_kl"),
    _row(f"{_A}.entropy_coeff", "algorithm", "entropy coefficient", 0, 0.001),
    _row(f"{_A}.shuffle", "algorithm", "shuffling of mini-batches", False),
    _row("algorithm.use_kl_in_reward", "algorithm", "KL in the reward", False),
    _row("algorithm.kl_ctrl.**", "algorithm", "KL control"),
    _row("algorithm.kl_penalty", "algorithm", "KL penalty", "kl"),
    _row("algorithm.gamma", "algorithm", "discount", 1.0),
    _row("algorithm.lam", "algorithm", "GAE lambda", 1.0),
    _row("algorithm.norm_adv_by_std_in_grpo", "algorithm", "advantages over their deviation", True),
    _row("algorithm.filter_groups.enable", "algorithm", "filtering of groups", False),
    _row("algorithm.filter_groups.**", "algorithm", "filtering of groups"),
    _row("algorithm.use_pf_ppo", "algorithm", "preference-feedback PPO", False),
    _row("algorithm.**", "algorithm", "algorithm setting"),
    _row("trainer.critic_warmup", "algorithm", "critic warm-up", 0, unit="steps"),
    _row("reward_model.enable", "algorithm", "reward model", False, None),
    _row("**.reward_manager*", "algorithm", "reward manager"),
    _row("distillation.enabled", "algorithm", "distillation", False),
)

_ENVIRONMENT = (
    _row("framework.name", "environment", "framework"),
    _row("framework.version", "environment", "framework version"),
    _row("trainer.device", "environment", "kind of device", "cuda"),
    _row("data.seed", "environment", "data seed", None),
    _row("**.seed", "environment", "seed"),
    _row("**.data_loader_seed", "environment", "seed of mini-batches"),
    _row("**.full_determinism", "environment", "determinism", False),
    _row("global_profiler.**", "environment", "profiler"),
    _row("**.profiler.**", "environment", "profiler of a part"),
    _row("**.profile.**", "environment", "profiler of a part"),
    _row("trainer.profile_steps", "environment", "profiled steps", None),
    _row(f"{_R}.disable_log_stats", "environment", "engine statistics off", True),
    _row(f"{_R}.prometheus.enable", "environment", "metric exporter", False),
    _row(f"{_R}.trace.backend", "environment", "trajectory tracing", None),
    _row("transfer_queue.metrics.enabled", "environment", "metrics of the transfer queue"),
    _row("ray_kwargs.timeline_json_file", "environment", "Ray timeline", None),
    _row("ray_kwargs.**", "environment", "Ray setting"),
    _row("ray_init.**", "environment", "Ray setting"),
)

_IDENTITY = (
    _row("trainer.experiment_name", "identity", "experiment"),
    _row("trainer.project_name", "identity", "project"),
    _row("trainer.logger", "identity", "loggers"),
    _row("trainer.log_val_generations", "identity", "validation samples logged"),
    _row("trainer.default_local_dir", "identity", "checkpoint folder"),
    _row("trainer.default_hdfs_dir", "identity", "checkpoint folder"),
    _row("trainer.rollout_data_dir", "identity", "folder of rollouts"),
    _row("trainer.validation_data_dir", "identity", "folder of validations"),
    _row("trainer.resume_mode", "identity", "resuming"),
    _row("trainer.del_local_ckpt_after_load", "identity", "checkpoints kept"),
    _row("trainer.max_*_ckpt_to_keep", "identity", "checkpoints kept"),
    _row("trainer.ray_wait_register_center_timeout", "identity", "timeout"),
    _row("trainer.esi_redundant_time", "identity", "time reserved for a last checkpoint"),
    _row("**.nccl_timeout", "identity", "timeout"),
    _row(f"{_R}.prometheus.port", "identity", "port"),
    _row(f"{_R}.prometheus.file", "identity", "path"),
    _row(f"{_R}.prometheus.served_model_name", "identity", "name of the served model"),
    _row(f"{_R}.trace.project_name", "identity", "project"),
    _row(f"{_R}.trace.experiment_name", "identity", "experiment"),
    _row("**.save_path", "identity", "path"),
    _row("**.dump_dir", "identity", "path"),
    _row("transfer_queue.**.*_server*", "identity", "address"),
    _row("transfer_queue.**.local_hostname", "identity", "address"),
    _row("transfer_queue.metrics.port", "identity", "port"),
    _row("sandbox_fusion.url", "identity", "address"),
    _row("reward_model.sandbox_fusion.url", "identity", "address"),
    _row("reward.sandbox_fusion.url", "identity", "address"),
)

KNOB_ROWS: tuple[KnobRow, ...] = (
    *_CHOICES,
    *_WORKLOAD,
    *_RESOURCES,
    *_WORK,
    *_SYNC,
    *_OFF_POLICY,
    *_SCHEDULE,
    *_ENGINE,
    *_ALGORITHM,
    *_ENVIRONMENT,
    *_IDENTITY,
)

//===- DynamicKeys.cpp - Fields of the dynamic-graph trainer --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

namespace {

template <typename... Kinds> constexpr unsigned anyOf(Kinds... kinds) {
  return ((1U << static_cast<unsigned>(kinds)) | ...);
}

// Types. Python takes an int for a float, and a bool for neither.
using Kind = NodeKind;
constexpr DynamicType anyType = {""};
constexpr DynamicType boolType = {"bool", anyOf(Kind::Bool)};
constexpr DynamicType intType = {"int", anyOf(Kind::Int)};
constexpr DynamicType floatType = {"float", anyOf(Kind::Int, Kind::Float)};
constexpr DynamicType stringType = {"str", anyOf(Kind::String)};
constexpr DynamicType mapType = {"dict", anyOf(Kind::Map)};
constexpr DynamicType floatList = {"list", anyOf(Kind::List), &floatType};
constexpr DynamicType stringList = {"list", anyOf(Kind::List), &stringType};
constexpr DynamicType mapList = {"list", anyOf(Kind::List), &mapType};
constexpr DynamicType optionalInt = {"typing.Optional[int]",
                                     anyOf(Kind::Int, Kind::Null)};
constexpr DynamicType optionalString = {"typing.Optional[str]",
                                        anyOf(Kind::String, Kind::Null)};
constexpr DynamicType optionalStrings = {"typing.Optional[typing.List[str]]",
                                         anyOf(Kind::List, Kind::Null),
                                         &stringType};
constexpr DynamicType optionalInts = {"typing.Optional[typing.List[int]]",
                                      anyOf(Kind::List, Kind::Null), &intType};
constexpr DynamicType optionalList = {"typing.Union[list, tuple, NoneType]",
                                      anyOf(Kind::List, Kind::Null)};
constexpr DynamicType optionalListOrMap = {
    "typing.Union[dict, list, NoneType]",
    anyOf(Kind::List, Kind::Map, Kind::Null)};
constexpr DynamicType stagesType = {
    "typing.Union[list, str, NoneType]",
    anyOf(Kind::List, Kind::String, Kind::Null)};
constexpr DynamicType normNamesType = {
    "typing.Union[bool, str, list]",
    anyOf(Kind::Bool, Kind::String, Kind::List)};

constexpr DynamicKey field(llvm::StringLiteral name, DynamicType type,
                           llvm::StringLiteral missing,
                           llvm::StringLiteral meaning) {
  return {name, type, missing, meaning};
}
/// Returns a field on which a step does not depend.
constexpr DynamicKey noEffect(llvm::StringLiteral name, DynamicType type,
                              llvm::StringLiteral missing,
                              llvm::StringLiteral meaning) {
  return {name, type, missing, meaning, DynamicUse::NoEffect};
}
/// Returns a field that the trainer overwrites or never reads.
constexpr DynamicKey dead(llvm::StringLiteral name, DynamicType type,
                          llvm::StringLiteral missing,
                          llvm::StringLiteral meaning,
                          llvm::StringLiteral instead) {
  return {name, type, missing, meaning, DynamicUse::NoEffect, instead};
}
constexpr DynamicKey required(llvm::StringLiteral name,
                              llvm::StringLiteral meaning) {
  return {name, stringType, "", meaning, DynamicUse::Used, "", true};
}
constexpr DynamicKey subsection(llvm::StringLiteral name) {
  return {name, mapType, "", "", DynamicUse::Section};
}

} // namespace

static constexpr DynamicKey documentFields[] = {
    subsection("checkpoint"),
    subsection("training"),
    subsection("parallelism"),
    subsection("optimizer"),
    subsection("lr_scheduler"),
    subsection("train_dataset"),
    subsection("model"),
    subsection("monitor"),
    subsection("profiler"),
    subsection("recompute"),
    subsection("recompute_comm"),
    subsection("swap"),
    subsection("lora_config"),
    subsection("context"),
    noEffect("callbacks", mapList, "[]", "what runs beside the steps"),
};

static constexpr DynamicKey checkpointFields[] = {
    noEffect("enable_save", boolType, "True", "checkpoints are written"),
    noEffect("save_path", stringType, "''", "the folder they are written to"),
    noEffect("save_max", intType, "5", "checkpoints that are kept"),
    noEffect("save_interleaved_steps", intType, "1000", "steps between them"),
    noEffect("no_save_optim", boolType, "False", "without optimizer state"),
    noEffect("async_save", boolType, "False", "written beside training"),
    noEffect("prefix", optionalString, "checkpoint", "how names begin"),
    noEffect("remove_redundancy", boolType, "False",
             "copies on other ranks are not written"),
    noEffect("load_path", stringType, "''", "the checkpoint to begin from"),
    noEffect("load_balanced", boolType, "False",
             "reading is divided among ranks"),
    noEffect("no_load_optim", boolType, "False", "without optimizer state"),
    noEffect("load_worker_number", intType, "1", "threads that read"),
    noEffect("save_global_layout_cache", boolType, "True",
             "the layout is kept for the next checkpoint"),
};

static constexpr DynamicKey trainingFields[] = {
    field("steps", intType, "1000",
          "steps of the run, and of the schedule of rates"),
    field("local_batch_size", intType, "1",
          "sequences per micro-batch and data-parallel rank"),
    field("global_batch_size", intType, "1", "sequences of a step"),
    field("max_norm", floatType, "1.0",
          "the norm to which gradients are "
          "clipped"),
    noEffect("seed", intType, "42",
             "first values of parameters: mf-run "
             "--seed"),
    noEffect("deterministic", boolType, "False",
             "reproducible kernels; those of mf always are"),
    field("rampup_batch_size",
          DynamicType{"typing.Optional[list]", anyOf(Kind::List, Kind::Null)},
          "null", "[start, increment, samples] of a growing global_batch_size"),
};

static constexpr DynamicKey parallelismFields[] = {
    field("data_parallel_shard", intType, "-1",
          "data-parallel ranks over which parameters are sharded; below 0 all"),
    dead("data_parallel_shard_strategy", stringType, "optim_grads_params",
         "what is sharded",
         "the trainer never reads it, and always shards weights, "
         "gradients and states"),
    field("reshard_after_forward_policy", stringType, "default",
          "when gathered weights are freed: default, always or never"),
    field("cpu_offload", boolType, "False", "state lives on the host"),
    field("disable_gradient_division", boolType, "True",
          "summed gradients are not divided by the ranks that share "
          "parameters out"),
    field("dense_fsdp_shard_size", optionalInt, "null",
          "ranks over which parameters are sharded, except those of experts"),
    field("tensor_parallel", intType, "1",
          "ranks over which the weights of a layer are cut"),
    field("context_parallel", intType, "1",
          "ranks over which a sequence is cut"),
    field("context_parallel_method", stringType, "colossal",
          "what attention exchanges: colossal, ulysses or hybrid"),
    field("context_parallel_async", boolType, "False",
          "ulysses and hybrid exchange beside computation"),
    field("ulysses_degree_in_cp", optionalInt, "null",
          "ranks of hybrid that exchange heads"),
    noEffect("context_parallel_mask_type", stringType, "causal",
             "the mask that ranks make"),
    field("pipeline_parallel", intType, "1", "stages of the pipeline"),
    field("pipeline_parallel_layers_per_stage", stagesType, "auto",
          "auto, or layers of each chunk of each stage as ['0-1, 4-7', ..]"),
    field("pipeline_parallel_schedule", stringType, "1f1b",
          "the order of micro-batches: 1f1b, interleaved_1f1b or gpipe"),
    dead("pipeline_parallel_microbatch_size", intType, "1",
         "sequences of a micro-batch",
         "the trainer overwrites it with the micro-batches that follow from "
         "training.global_batch_size"),
    field("pipeline_parallel_interleave_num", intType, "1", "chunks per stage"),
    field("pipeline_parallel_overlap_p2p", boolType, "False",
          "messages of interleaved_1f1b beside computation"),
    field("pipeline_parallel_overlap_b_f", boolType, "False",
          "backward of one micro-batch beside forward of the next"),
    field("pipeline_parallel_enable_dxdw_split", boolType, "False",
          "gradients of weights behind the message"),
    noEffect("pipeline_parallel_p2p_transport", stringType, "plain",
             "how messages are sent: plain or auto"),
    field("sequence_parallel", boolType, "False",
          "must be True with tensor_parallel, which cuts the sequence"),
    noEffect("enable_mc2", boolType, "False",
             "products and their collectives in one kernel, of the same bytes"),
    dead("enable_loss_parallel", boolType, "False",
         "the loss works on parts of the vocabulary",
         "the trainer never reads it: with tensor_parallel above 1 the loss "
         "always does"),
    field("expert_parallel", intType, "1",
          "ranks over which experts are distributed"),
    field("npu_nums_per_device", intType, "8", "ranks of a machine"),
    field("moe_token_dispatcher_type", stringType, "alltoall",
          "how tokens reach experts: alltoall or alltoall_deredundancy"),
    noEffect("expert_parallel_async_d2h", boolType, "False",
             "counts reach the host beside computation"),
    field("expert_parallel_use_safe_tokens", boolType, "True",
          "each rank sends every expert one more token"),
};

static constexpr DynamicKey optimizerFields[] = {
    field("type", stringType, "AdamW", "AdamW or Muon"),
    field("betas", floatList, "[0.9, 0.95]", "decay of the two moments"),
    field("eps", floatType, "1.0e-8",
          "what is added to the root of the second moment"),
    field("weight_decay", floatType, "0.01",
          "decay of parameters of rank two and more"),
    field("weight_decay_include", optionalStrings, "null",
          "names or wildcards of parameters that decay all the same"),
    field("weight_decay_exclude", optionalStrings, "null",
          "names or wildcards of parameters that do not"),
};

static constexpr DynamicKey lrSchedulerFields[] = {
    required("type", "the class of the schedule"),
    field("learning_rate", floatType, "1.0e-5", "the highest rate"),
};

static constexpr DynamicKey datasetFields[] = {
    subsection("dataloader"),
    noEffect("drop_remainder", boolType, "True", "no smaller last batch"),
    noEffect("num_parallel_workers", intType, "8", "threads that read"),
    noEffect("prefetch_size", intType, "1", "batches that are read ahead"),
    noEffect("numa_enable", boolType, "False", "threads stay near memory"),
    field("use_distribute_dataset", boolType, "False",
          "one rank reads a batch and sends it to those of cp and tp"),
};

static constexpr DynamicKey dataloaderFields[] = {
    required("type", "where samples come from"),
    noEffect("shuffle", boolType, "False", "samples in random order"),
    noEffect("column_names", stringList, "[input_ids, labels]",
             "columns of a sample"),
    noEffect("python_multiprocessing", boolType, "False",
             "processes that read"),
};

static constexpr DynamicKey modelFields[] = {
    required("model_type", "the name of the model's kind"),
    {"architectures", anyType, "", "the model's class", DynamicUse::Used, "",
     true},
};

static constexpr DynamicKey monitorFields[] = {
    subsection("health_checkpoint"),
    subsection("train_state"),
    subsection("tensorboard"),
    subsection("moe_monitor"),
};
static constexpr DynamicKey healthFields[] = {
    noEffect("embedding_local_norm_threshold", floatType, "100.0",
             "norm of the embedding's gradient that is reported"),
    noEffect("global_norm_skip_threshold", floatType, "100.0",
             "norm above which a step is reported"),
    noEffect("global_norm_skip_time", intType, "10",
             "such steps in a row that are allowed"),
};
static constexpr DynamicKey trainStateFields[] = {
    noEffect("local_norm", normNamesType, "''", "norms that are printed"),
    noEffect("local_loss", boolType, "False", "each rank's loss is printed"),
    noEffect("device_norm", boolType, "False", "norms of devices are printed"),
    noEffect("device_loss", boolType, "False", "losses of devices are printed"),
};
static constexpr DynamicKey tensorboardFields[] = {
    noEffect("output_dir", stringType, "''", "the folder of logs"),
    noEffect("log_interval", intType, "1", "steps between entries"),
    noEffect("queue_size", intType, "1000", "entries in flight"),
    noEffect("tensorboard_dir", stringType, "''", "the folder of logs"),
    noEffect("tensorboard_log_interval", intType, "1", "steps between entries"),
    noEffect("tensorboard_queue_size", intType, "1000", "entries in flight"),
};
static constexpr DynamicKey moeMonitorFields[] = {
    noEffect("save_tokens_per_expert_interval", optionalInt, "null",
             "steps between entries on the load of experts"),
    noEffect("target_layers", optionalInts, "null", "layers with entries"),
};

static constexpr DynamicKey profilerFields[] = {
    noEffect("enable_profiling", boolType, "False", "a profile is written"),
    noEffect("start_step", intType, "1", "its first step"),
    noEffect("end_step", intType, "1", "its last step"),
    noEffect("output_path", optionalString, "null", "where it is written"),
    noEffect("profiler_rank", optionalInts, "null", "ranks with a profile"),
    noEffect("profiler_level", optionalInt, "0", "how much is in it"),
    noEffect("mstx", boolType, "False", "marks in it"),
    noEffect("profile_memory", boolType, "False", "memory is in it"),
    noEffect("with_stack", boolType, "True", "Python's calls are in it"),
    noEffect("profile_cpu", boolType, "True", "the host is in it"),
};

static constexpr DynamicKey recomputeFields[] = {
    field("mode", anyType, "'None'", "'None', 'full' or 'select'"),
    field("full_recompute_layer", optionalList, "null",
          "layers that run again as a whole, as ['0-3', '7']"),
    field("select_module", optionalListOrMap, "null",
          "patterns of modules that run again, each with its layers"),
    field("exclude_op", optionalStrings, "null",
          "parts of names of operators whose outputs are kept"),
};
static constexpr DynamicKey recomputeCommFields[] = {
    field("enable", boolType, "False", "select_module counts"),
    field("select_module", optionalListOrMap, "null",
          "patterns of functions that run again, each with its layers"),
};
static constexpr DynamicKey swapFields[] = {
    field("enable", boolType, "False",
          "activations go to host memory between forward and backward"),
    field("default_prefetch", intType, "1",
          "layers between the copy and the layer that reads it"),
    field("layer_swap", optionalListOrMap, "null",
          "layers that are swapped as a whole, [{layers: ['0-3']}]"),
    field("op_swap", optionalListOrMap, "null",
          "modules that are swapped, [{op_name: 'mlp', layers: ['0-3']}]"),
};

static constexpr DynamicKey loraFields[] = {
    field("target_modules", stringType, "''",
          "a regular expression that is searched for in the paths of linear "
          "layers; those that it matches get adapters"),
    field("exclude_layers", optionalString, "null",
          "such an expression for modules without adapters"),
    field("lora_rank", intType, "8", "rows of A and columns of B"),
    field("lora_alpha", intType, "16", "lora_rank times the adapters' factor"),
    field("lora_dropout", floatType, "0.0",
          "the share of its input that an adapter drops"),
    field("lora_a_std", floatType, "0.01",
          "the standard deviation of the first values of A"),
    field("lora_b_std", floatType, "0.0",
          "the standard deviation of the first values of B"),
};

static constexpr DynamicKey contextFields[] = {
    noEffect("mode", intType, "1", "1 is the dynamic graph"),
    field("max_device_memory", stringType, "59GB",
          "device memory that a rank may use"),
    noEffect("device_target", stringType, "Ascend", "the kind of device"),
};

static constexpr DynamicKey callbackFields[] = {
    required("type", "the class of the callback"),
};

llvm::ArrayRef<const DynamicSection *> getDynamicSections() {
  static constexpr DynamicSection document = {"", "TrainConfig", true,
                                              documentFields};
  static constexpr DynamicSection all[] = {
      {"checkpoint", "CheckpointConfig", false, checkpointFields},
      {"training", "TrainingConfig", false, trainingFields},
      {"parallelism", "ParallelismConfig", false, parallelismFields},
      {"optimizer", "OptimizerConfig", true, optimizerFields},
      {"lr_scheduler", "LrSchedulerConfig", true, lrSchedulerFields},
      {"train_dataset", "TrainDatasetConfig", false, datasetFields},
      {"train_dataset.dataloader", "DataloaderConfig", true, dataloaderFields},
      {"model", "ModelConfig", true, modelFields},
      {"monitor", "MonitorConfig", false, monitorFields},
      {"monitor.health_checkpoint", "HealthCheckpointConfig", false,
       healthFields},
      {"monitor.train_state", "TrainStateConfig", false, trainStateFields},
      {"monitor.tensorboard", "TensorboardConfig", false, tensorboardFields},
      {"monitor.moe_monitor", "MoeMonitorConfig", false, moeMonitorFields},
      {"profiler", "ProfilerConfig", false, profilerFields},
      {"recompute", "RecomputeConfig", false, recomputeFields},
      {"recompute_comm", "RecomputeCommConfig", false, recomputeCommFields},
      {"swap", "SwapConfig", false, swapFields},
      {"lora_config", "LoraConfig", false, loraFields, /*isOptional=*/true},
      {"context", "ContextConfig", false, contextFields},
      {"callbacks", "CallbackConfig", true, callbackFields},
  };
  static const std::vector<const DynamicSection *> sections = [] {
    std::vector<const DynamicSection *> list = {&document};
    for (const DynamicSection &section : all)
      list.push_back(&section);
    return list;
  }();
  return sections;
}

const DynamicKey *DynamicSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const DynamicKey &known) { return known.name == key; });
  return found == keys.end() ? nullptr : found;
}

const DynamicSection &getDynamicSection(llvm::StringRef name) {
  return **llvm::find_if(
      getDynamicSections(),
      [&](const DynamicSection *section) { return section->name == name; });
}

} // namespace mf

//===- DynamicConfig.cpp - The YAML of the dynamic-graph trainer ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "NodeBuilder.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/StageMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace mf {

//===----------------------------------------------------------------------===//
// Which of the two formats a YAML has
//===----------------------------------------------------------------------===//

/// Returns the first entry that only one of the formats has.
static Node findFormatKey(const Node &root, bool isDynamic) {
  static constexpr llvm::StringRef dynamicSections[] = {
      "training",  "parallelism",    "lr_scheduler",
      "recompute", "recompute_comm", "swap"};
  static constexpr llvm::StringRef staticSections[] = {
      "runner_config", "parallel_config", "lr_schedule", "recompute_config",
      "swap_config",   "trainer",         "use_legacy",  "runner_wrapper",
      "moe_config",    "parallel",        "use_parallel"};
  const llvm::ArrayRef<llvm::StringRef> names =
      isDynamic ? llvm::ArrayRef(dynamicSections)
                : llvm::ArrayRef(staticSections);
  for (const Node::Entry &entry : root.getEntries())
    if (llvm::is_contained(names, entry.key.getText()))
      return entry.key;
  Node model = root["model"];
  if (isDynamic) {
    for (const ModelKey *key : {&keys::modelType, &keys::architectures})
      if (!model["model_config"] && !model["arch"] && key->find(model))
        return model.getKeyNode(key->getName());
    return root["train_dataset"].getKeyNode("dataloader");
  }
  if (Node key = model.getKeyNode("model_config"))
    return key;
  return root["train_dataset"].getKeyNode("data_loader");
}

bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics) {
  Node dynamic = findFormatKey(root, /*isDynamic=*/true);
  Node other = findFormatKey(root, /*isDynamic=*/false);
  if (dynamic && other)
    diagnostics
        .error(other.getLocation(),
               quote(other.getText()) + " is of the static graph's YAML and " +
                   quote(dynamic.getText()) +
                   " of the dynamic graph's; expected the sections of one of "
                   "them")
        .attachNote(quote(dynamic.getText()) + " is here",
                    dynamic.getLocation());
  return dynamic.isDefined();
}

//===----------------------------------------------------------------------===//
// The sections of the static graph
//===----------------------------------------------------------------------===//

namespace {

/// Writes the sections of the static graph one after the other.
class StaticSections {
public:
  StaticSections(const Node &root, const DynamicLayout &layout,
                 DiagnosticList &diagnostics)
      : root(root), layout(layout), diagnostics(diagnostics), to(root) {}

  Node write();

private:
  void writeRanks();
  void writeSharding(const DynamicReader &reader);
  void writePipeline();
  void checkSchedule(const DynamicReader &reader, llvm::StringRef name);
  void writeOffset(const Node &model);
  void writeBatch();
  void writeOptimizer();
  void writeMuon(const DynamicReader &reader);
  void writeRates();
  void writeModel();
  void writeBalance(const Node &model);

  const Node &root;
  const DynamicLayout &layout;
  DiagnosticList &diagnostics;
  NodeBuilder to;
};

} // namespace

void StaticSections::writeRanks() {
  DynamicReader reader(root, "parallelism", diagnostics);
  to.place("parallel_config", reader.getNode());
  auto set = [&](llvm::StringRef key, int64_t value, llvm::StringRef from) {
    to.set(("parallel_config." + key).str(), llvm::Twine(value),
           reader.get(from));
  };
  set("data_parallel", layout.data, "data_parallel_shard");
  set("model_parallel", layout.tensor, "tensor_parallel");
  set("context_parallel", layout.context, "context_parallel");
  if (layout.expert > 1)
    set("expert_parallel", layout.expert, "expert_parallel");
  set("pipeline_stage", layout.pipeline, "pipeline_parallel");
  to.set("parallel_config.use_seq_parallel",
         layout.tensor > 1 ? "True" : "False", reader.get("tensor_parallel"));
  to.set("parallel_config.vocab_emb_dp", "False",
         reader.get("tensor_parallel"));
  if (layout.context > 1) {
    const llvm::StringRef algorithm =
        llvm::StringSwitch<llvm::StringRef>(
            reader.getString("context_parallel_method"))
            .Case("ulysses", "ulysses_cp")
            .Case("hybrid", "hybrid_cp")
            .Default("colossalai_cp");
    to.set("parallel_config.context_parallel_algo", algorithm,
           reader.get("context_parallel_method"));
    // Without it there is an error already.
    if (algorithm == "hybrid_cp" && reader.getWritten("ulysses_degree_in_cp"))
      to.set("parallel_config.ulysses_degree_in_cp",
             reader.get("ulysses_degree_in_cp"));
  }
  to.set("parallel.parallel_mode", "1", reader.getNode());
  to.set("parallel.full_batch", "True", reader.getNode());
  writeSharding(reader);
}

/// Writes the parallel optimizer's closest equivalent: weights are sharded over
/// the data-parallel ranks, and with one stage gradients are reduced once per
/// micro-batch.
void StaticSections::writeSharding(const DynamicReader &reader) {
  if (layout.data * layout.context == 1)
    return;
  Node origin = reader.get("data_parallel_shard");
  const bool reshards =
      layout.pipeline == 1 &&
      reader.getString("reshard_after_forward_policy") != "never";
  to.set("parallel.enable_parallel_optimizer", "True", origin);
  const llvm::StringRef level = reshards               ? "level3"
                                : layout.pipeline == 1 ? "level2"
                                                       : "level1";
  to.set("parallel.parallel_optimizer_config.optimizer_level", level, origin);
  to.set("parallel.parallel_optimizer_config.parallel_optimizer_threshold", "0",
         origin);
  if (layout.replicate > 1)
    to.set("parallel.parallel_optimizer_config.optimizer_weight_shard_size",
           llvm::Twine(layout.shard * layout.context), origin);
}

void StaticSections::checkSchedule(const DynamicReader &reader,
                                   llvm::StringRef name) {
  const llvm::StringRef key = "pipeline_parallel_schedule";
  const bool isInterleaved = layout.interleave > 1;
  if (name != "1f1b" && name != "gpipe" && name != "interleaved_1f1b")
    reader.error(key, "Unsupported pipeline_parallel_schedule '" +
                          reader.getString(key) +
                          "'; supported values: 1f1b, gpipe, "
                          "interleaved_1f1b");
  else if (name == "interleaved_1f1b" && !isInterleaved)
    reader.error(key, "pipeline_parallel_schedule='interleaved_1f1b' requires "
                      "pipeline_parallel_interleave_num > 1, but got " +
                          llvm::Twine(layout.interleave) +
                          "; use '1f1b' schedule instead, or set "
                          "interleave_num > 1");
  else if (name == "gpipe" && isInterleaved)
    reader.error(key, "gpipe with pipeline_parallel_interleave_num " +
                          llvm::Twine(layout.interleave) +
                          " does not work in the trainer; expected 1");
  const int64_t rest = layout.microBatches % layout.pipeline;
  if (isInterleaved && rest > 1 && layout.microBatches >= 2 * layout.pipeline)
    reader.warn(key, "the first round of micro-batches takes the " +
                         llvm::Twine(rest) +
                         " that are over, which the trainer spreads over the "
                         "first rounds");
  const bool overlaps = reader.getBool("pipeline_parallel_overlap_b_f");
  for (llvm::StringRef option :
       {"pipeline_parallel_overlap_p2p", "pipeline_parallel_overlap_b_f",
        "pipeline_parallel_enable_dxdw_split"}) {
    if (!reader.getBool(option))
      continue;
    if (!isInterleaved)
      reader.warn(option, quote(option) + " has no effect: the trainer drops "
                                          "it for other schedules than "
                                          "interleaved_1f1b");
    else if (option == "pipeline_parallel_enable_dxdw_split" && !overlaps)
      reader.warn(option, "enable_dxdw_split=True requires overlap_b_f=True, "
                          "but overlap_b_f is False; the trainer sets "
                          "enable_dxdw_split=False");
    else if (option == "pipeline_parallel_overlap_p2p")
      reader.warn(option, quote(option) + " is not lowered; the order is that "
                                          "of interleaved_1f1b");
  }
}

void StaticSections::writePipeline() {
  DynamicReader reader(root, "parallelism", diagnostics);
  if (layout.pipeline == 1) {
    if (layout.interleave > 1)
      reader.warn("pipeline_parallel_interleave_num",
                  "'pipeline_parallel_interleave_num' has no effect with one "
                  "stage");
    return;
  }
  const std::string name =
      llvm::StringRef(reader.getString("pipeline_parallel_schedule")).lower();
  checkSchedule(reader, name);
  Node origin = reader.get("pipeline_parallel_schedule");
  to.set("parallel.pipeline_config.pipeline_scheduler",
         name == "gpipe" ? "gpipe" : "1f1b", origin);
  to.set("parallel.pipeline_config.pipeline_interleave",
         layout.interleave > 1 ? "True" : "False",
         reader.get("pipeline_parallel_interleave_num"));
}

void StaticSections::writeOffset(const Node &model) {
  const DynamicDepth depth = readDynamicDepth(model);
  std::vector<std::vector<int64_t>> counts =
      readDynamicStages(root, layout, depth.layers, diagnostics);
  if (counts.empty())
    return;
  DynamicReader reader(root, "parallelism", diagnostics);
  Node origin = reader.get("pipeline_parallel_layers_per_stage");
  counts.back().back() += depth.nextTokens;
  const int64_t average =
      depth.getAll() / (layout.pipeline * layout.interleave);
  for (std::vector<int64_t> &row : counts)
    for (int64_t &count : row)
      count -= average;
  to.set(offsetPath, makeNumberTable(origin, counts));
  if (layout.interleave > 1)
    to.set(interleavePath, llvm::Twine(layout.interleave),
           reader.get("pipeline_parallel_interleave_num"));
}

void StaticSections::writeBatch() {
  DynamicReader training(root, "training", diagnostics);
  to.place("runner_config", training.getNode());
  to.set("runner_config.batch_size",
         llvm::Twine(std::max<int64_t>(training.getInt("local_batch_size"), 1)),
         training.get("local_batch_size"));
  Node origin = training.get("global_batch_size");
  to.set(layout.pipeline > 1 ? "parallel_config.micro_batch_num"
                             : "runner_config.gradient_accumulation_steps",
         llvm::Twine(layout.microBatches), origin);
  const double norm = training.getFloat("max_norm");
  to.set("runner_wrapper.type", "MFTrainOneStepCell", training.getNode());
  to.set("runner_wrapper.scale_sense", "1.0", training.getNode());
  to.set("runner_wrapper.use_clip_grad", norm > 0 ? "True" : "False",
         training.get("max_norm"));
  if (norm > 0)
    to.set("runner_wrapper.max_grad_norm", training.get("max_norm"));
  else
    training.warn("max_norm", "gradients are not clipped, as the trainer's "
                              "documentation says for 'max_norm' of at most "
                              "0; its code multiplies all of them by 0");
}

/// The keys have the same names in both formats, but some defaults differ.
void StaticSections::writeMuon(const DynamicReader &reader) {
  const Node &section = reader.getNode();
  if (!section["adamw_include"])
    to.set("optimizer.adamw_include",
           makeList(section, {makeString(section, "*word_embeddings*"),
                              makeString(section, "*output_layer*")}));
  if (!section["adamw_betas"])
    to.set("optimizer.adamw_betas",
           makeList(section, {makeScalar(section, "0.95"),
                              makeScalar(section, "0.95")}));
  Node model = root["model"];
  // Hybrid attention has no largest logits by which weights could be clipped.
  if (section["qk_clip_threshold"] || section["qk_clip_enabled"] ||
      !hasHybridAttention(model)) {
    if (!section["qk_clip_threshold"])
      to.set("optimizer.qk_clip_threshold", "100.0", reader.get("type"));
  } else {
    to.set("optimizer.qk_clip_enabled", "False", reader.get("type"));
  }
  const bool isLatent =
      keys::multiLatentAttention.find(model).getBool().value_or(
          keys::modelType.find(model).getText() != "qwen3");
  if (!isLatent)
    reader.error("type", "Current Muon implementation only supports models "
                         "with Multi-Latent Attention enabled; set " +
                             quote(keys::multiLatentAttention.getName()) +
                             " or take AdamW");
}

void StaticSections::writeOptimizer() {
  DynamicReader reader(root, "optimizer", diagnostics);
  const std::string type = reader.getString("type");
  to.place("optimizer", reader.getNode());
  if (type != "AdamW" && type != "Muon")
    reader.error("type", "Optimizer type " + type +
                             " is not implemented yet; expected AdamW or "
                             "Muon");
  for (llvm::StringRef key : {"type", "eps", "weight_decay"})
    to.set(("optimizer." + key).str(), reader.get(key));
  to.set("optimizer.betas",
         type == "Muon" ? reader.getWritten("betas") : reader.get("betas"));
  // With another type the static graph's reader says that they do nothing.
  static constexpr llvm::StringLiteral ofClasses[] = {
      "momentum",        "nesterov",          "matched_adamw_rms",
      "ns_steps",        "ns_coefficients",   "adamw_betas",
      "adamw_eps",       "adamw_include",     "comm_strategy",
      "qk_clip_enabled", "qk_clip_threshold", "swap"};
  for (llvm::StringRef key : ofClasses)
    to.set(("optimizer." + key).str(), reader.getNode()[key]);
  llvm::SmallVector<llvm::StringRef> names(std::begin(ofClasses),
                                           std::end(ofClasses));
  llvm::append_range(names,
                     llvm::ArrayRef<llvm::StringRef>(
                         {"use_fused", "enable_fused_opt", "use_fused_adamw"}));
  reader.warnAboutOthers(names);
  if (type == "Muon")
    writeMuon(reader);
}

void StaticSections::writeRates() {
  DynamicReader reader(root, "lr_scheduler", diagnostics);
  to.place("lr_schedule", reader.getNode());
  // A type that is null is an error already.
  if (reader.getNode()["type"].getKind() == NodeKind::Null)
    return;
  reader.warnAboutOthers(lrScheduleSection.getNames());
  for (const Node::Entry &entry : reader.getNode().getEntries())
    if (llvm::StringRef key = entry.key.getText(); lrScheduleSection.find(key))
      to.set(("lr_schedule." + key).str(), entry.value);
  Node rate = reader.get("learning_rate");
  to.set("lr_schedule.learning_rate", rate);
  DynamicReader training(root, "training", diagnostics);
  Node steps = training.get("steps");
  if (training.getInt("steps") < 1)
    training.error("steps",
                   "expected 'steps' of at least 1, but got " + steps.repr(60));
  else
    to.set("lr_schedule.total_steps", steps);
  if (Node given = reader.getNode()["total_steps"];
      given && given.getInt() != steps.getInt())
    diagnostics.warning(given.getLocation(),
                        "'total_steps' has no effect: the trainer sets it to "
                        "training.steps " +
                            steps.repr(60));
}

/// Writes the callback that updates the bias of the experts once per step, with
/// a pipeline or with gradient accumulation.
void StaticSections::writeBalance(const Node &model) {
  const Node bias = keys::expertBias.find(model);
  const Node experts = keys::numExperts.find(model, keys::Mcore);
  if (!bias.getBool().value_or(false) || experts.getInt().value_or(0) < 1)
    return;
  if (keys::firstDenseLayers.find(model).getInt().value_or(0) >=
      readDynamicDepth(model).layers)
    return;
  NodeBuilder callback(bias);
  callback.set("type", "TopkBiasBalanceCallback", bias);
  callback.set("balance_via_topk_bias", "True", bias);
  callback.set("expert_num", experts);
  callback.set("micro_batch_num",
               llvm::Twine(layout.pipeline > 1 ? layout.microBatches : 1),
               bias);
  callback.set("gradient_accumulation_steps",
               llvm::Twine(layout.pipeline > 1 ? 1 : layout.microBatches),
               bias);
  to.set("callbacks", makeList(bias, {callback.build()}));
}

void StaticSections::writeModel() {
  Node model = readDynamicModel(root, layout, diagnostics);
  if (!model)
    return;
  to.place("model", root["model"]);
  to.place("model.model_config", root["model"]);
  for (const Node::Entry &entry : model.getEntries())
    to.set("model.model_config." + entry.key.getText().str(), entry.value);
  writeOffset(model);
  writeBalance(model);
}

Node StaticSections::write() {
  writeRanks();
  writePipeline();
  writeBatch();
  writeOptimizer();
  writeRates();
  writeModel();
  DynamicReader context(root, "context", diagnostics);
  const llvm::StringRef memory = known::deviceMemory.name;
  to.set(("context." + memory).str(), context.get(memory));
  return to.build();
}

Node translateDynamicFormat(const Node &root, const DynamicLayout &layout,
                            DiagnosticList &diagnostics) {
  return StaticSections(root, layout, diagnostics).write();
}

} // namespace mf

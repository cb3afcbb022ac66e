//===- DynamicConfig.cpp - The YAML of the dynamic-graph trainer ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "NodeBuilder.h"
#include "SettingKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/StageMap.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

using namespace dynamic;

//===----------------------------------------------------------------------===//
// Which of the two formats a YAML has
//===----------------------------------------------------------------------===//

/// Returns the first entry that only one of the formats has.
static Node findFormatKey(const Node &root, bool isDynamic) {
  const llvm::StringRef dynamicSections[] = {
      training::section,  parallelism::section,   lrScheduler::section,
      recompute::section, recomputeComm::section, swap::section};
  const llvm::StringRef staticSections[] = {
      runnerSection.name,    parallelConfigSection.name, lrScheduleSection.name,
      recomputeSection.name, swapSection.name,           "trainer",
      known::useLegacy.name, wrapperSection.name,        moeSection.name,
      parallelSection.name,  known::useParallel.name};
  const llvm::ArrayRef<llvm::StringRef> names =
      isDynamic ? llvm::ArrayRef(dynamicSections)
                : llvm::ArrayRef(staticSections);
  for (const Node::Entry &entry : root.getEntries())
    if (llvm::is_contained(names, entry.key.getText()))
      return entry.key;
  Node model = root[model::section];
  Node data = root[dataset::section];
  if (isDynamic) {
    for (const ModelKey *key : {&keys::modelType, &keys::architectures})
      if (!model[known::modelConfig.name] && !model[known::arch.name] &&
          key->find(model))
        return model.getKeyNode(key->getName());
    return data.getKeyNode(dataset::dataloader.name);
  }
  if (Node key = model.getKeyNode(known::modelConfig.name))
    return key;
  return data.getKeyNode(known::dataLoader);
}

bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics) {
  Node dynamic = findFormatKey(root, /*isDynamic=*/true);
  Node other = findFormatKey(root, /*isDynamic=*/false);
  if (dynamic && other)
    diagnostics
        .error(
            other.getLocation(),
            quote(other.getText()) + " is of the static graph's YAML and " +
                quote(dynamic.getText()) +
                " of the dynamic graph's; expected the sections of one of them")
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
      : root(root), layout(layout), diagnostics(diagnostics),
        reader(root, diagnostics), to(root) {}

  Node write() {
    writeRanks();
    writePipeline();
    writeBatch();
    writeOptimizer();
    writeRates();
    writeModel();
    to.set(getPath(contextSection, known::deviceMemory),
           reader.get(context::maxDeviceMemory));
    return to.build();
  }

private:
  void writeRanks() {
    const Node section = reader.getSection(parallelism::section);
    to.place(parallelConfigSection.name, section);
    set(&ParallelConfig::dataParallel, llvm::Twine(layout.data),
        parallelism::dataParallelShard);
    set(parallelism::tensorParallel, llvm::Twine(layout.tensor));
    set(parallelism::contextParallel, llvm::Twine(layout.context));
    if (layout.expert > 1)
      set(parallelism::expertParallel, llvm::Twine(layout.expert));
    set(parallelism::pipelineParallel, llvm::Twine(layout.pipeline));
    set(&ParallelConfig::useSeqParallel, printBool(layout.tensor > 1),
        parallelism::tensorParallel);
    set(&ParallelConfig::vocabEmbDp, printBool(false),
        parallelism::tensorParallel);
    if (layout.context > 1) {
      const ContextMethod &method =
          getContextMethod(reader.getString(parallelism::contextParallelMethod),
                           &ContextMethod::name);
      set(parallelism::contextParallelMethod, method.algorithm);
      // Without it there is an error already.
      if (&method == &hybridMethod &&
          reader.getWritten(parallelism::ulyssesDegreeInCp))
        copy(parallelism::ulyssesDegreeInCp);
    }
    to.set(getPath(parallelSection, known::parallelMode), "1", section);
    set(&ParallelConfig::fullBatch, printBool(true), section);
    writeSharding();
  }

  /// Writes the parallel optimizer's closest equivalent: weights are sharded
  /// over the data-parallel ranks, and with one stage gradients are reduced
  /// once per micro-batch.
  void writeSharding() {
    if (layout.data * layout.context == 1)
      return;
    const DynamicKey &key = parallelism::dataParallelShard;
    const bool reshards =
        layout.pipeline == 1 &&
        reader.getString(parallelism::reshardPolicy) != "never";
    set(&ParallelConfig::enableParallelOptimizer, printBool(true), key);
    const llvm::StringRef level = reshards               ? "level3"
                                  : layout.pipeline == 1 ? "level2"
                                                         : "level1";
    to.set(getPath(parallelOptimizerSection, known::optimizerLevel), level,
           reader.get(key));
    set(&OptimizerShardConfig::threshold, "0", key);
    if (layout.replicate > 1)
      set(&OptimizerShardConfig::weightShardSize,
          llvm::Twine(layout.shard * layout.context), key);
  }

  void writePipeline() {
    const DynamicKey &interleave = parallelism::interleaveNum;
    if (layout.pipeline == 1) {
      if (layout.interleave > 1)
        reader.warn(interleave,
                    quote(interleave.name) + " has no effect with one stage");
      return;
    }
    const std::string name =
        llvm::StringRef(reader.getString(parallelism::schedule)).lower();
    checkSchedule(name);
    set(parallelism::schedule, name == "gpipe" ? "gpipe" : "1f1b");
    set(&ParallelConfig::pipelineInterleave, printBool(layout.interleave > 1),
        interleave);
  }

  void checkSchedule(llvm::StringRef name) {
    const DynamicKey &key = parallelism::schedule;
    const llvm::StringRef interleave = parallelism::interleaveNum.name;
    const bool isInterleaved = layout.interleave > 1;
    if (name != "1f1b" && name != "gpipe" && name != "interleaved_1f1b")
      reader.error(key,
                   "Unsupported " + key.name + " '" + reader.getString(key) +
                       "'; supported values: 1f1b, gpipe, interleaved_1f1b");
    else if (name == "interleaved_1f1b" && !isInterleaved)
      reader.error(
          key, key.name + "='interleaved_1f1b' requires " + interleave +
                   " > 1, but got " + llvm::Twine(layout.interleave) +
                   "; use '1f1b' schedule instead, or set interleave_num > 1");
    else if (name == "gpipe" && isInterleaved)
      reader.error(key, "gpipe with " + interleave + " " +
                            llvm::Twine(layout.interleave) +
                            " does not work in the trainer; expected 1");
    const int64_t rest = layout.microBatches % layout.pipeline;
    if (isInterleaved && rest > 1 && layout.microBatches >= 2 * layout.pipeline)
      reader.warn(key, "the first round of micro-batches takes the " +
                           llvm::Twine(rest) +
                           " that are over, which the trainer spreads over the "
                           "first rounds");
    const bool overlaps = reader.getBool(parallelism::overlapBackward);
    for (const DynamicKey *option :
         {&parallelism::overlapP2p, &parallelism::overlapBackward,
          &parallelism::dxdwSplit}) {
      if (!reader.getBool(*option))
        continue;
      if (!isInterleaved)
        reader.warnUnused(
            *option,
            "the trainer drops it for other schedules than interleaved_1f1b");
      else if (option == &parallelism::dxdwSplit && !overlaps)
        reader.warn(
            *option,
            "enable_dxdw_split=True requires overlap_b_f=True, but overlap_b_f "
            "is False; the trainer sets enable_dxdw_split=False");
      else if (option == &parallelism::overlapP2p)
        reader.warn(
            *option,
            quote(option->name) +
                " is not lowered; the order is that of interleaved_1f1b");
    }
  }

  void writeOffset(const Node &model) {
    const DynamicDepth depth = readDynamicDepth(model);
    std::vector<std::vector<int64_t>> counts =
        readDynamicStages(root, layout, depth.layers, diagnostics);
    if (counts.empty())
      return;
    Node origin = reader.get(parallelism::layersPerStage);
    counts.back().back() += depth.nextTokens;
    const int64_t average =
        depth.getAll() / (layout.pipeline * layout.interleave);
    for (std::vector<int64_t> &row : counts)
      for (int64_t &count : row)
        count -= average;
    to.set(getPath(keys::offset), makeNumberTable(origin, counts));
    if (layout.interleave > 1)
      to.set(getPath(keys::interleave), llvm::Twine(layout.interleave),
             reader.get(parallelism::interleaveNum));
  }

  void writeBatch() {
    const Node section = reader.getSection(training::section);
    to.place(runnerSection.name, section);
    set(training::localBatchSize,
        llvm::Twine(
            std::max<int64_t>(reader.getInt(training::localBatchSize), 1)));
    if (layout.pipeline > 1)
      set(&ParallelConfig::microBatchNum, llvm::Twine(layout.microBatches),
          training::globalBatchSize);
    else
      set(&RunnerConfig::gradientAccumulationSteps,
          llvm::Twine(layout.microBatches), training::globalBatchSize);
    const DynamicKey &norm = training::maxNorm;
    const bool clips = reader.getFloat(norm) > 0;
    set(&RunnerWrapper::type, "MFTrainOneStepCell", section);
    to.set(getPath(wrapperSection, known::scaleSense), "1.0", section);
    set(&RunnerWrapper::useClipGrad, printBool(clips), norm);
    if (clips)
      copy(norm);
    else
      reader.warn(norm,
                  "gradients are not clipped, as the trainer's documentation "
                  "says for " +
                      quote(norm.name) +
                      " of at most 0; its code multiplies all of them by 0");
  }

  void writeOptimizer() {
    const Node section = reader.getSection(optimizer::section);
    const std::string type = reader.getString(optimizer::type);
    const bool isMuon = type == "Muon";
    to.place(optimizerSection.name, section);
    if (type != "AdamW" && !isMuon)
      reader.error(optimizer::type,
                   "Optimizer type " + type +
                       " is not implemented yet; expected AdamW or Muon");
    auto getSamePath = [](llvm::StringRef key) {
      return (optimizerSection.name + "." + key).str();
    };
    for (const DynamicKey *key :
         {&optimizer::type, &optimizer::eps, &optimizer::weightDecay})
      to.set(getSamePath(key->name), reader.get(*key));
    to.set(getSamePath(optimizer::betas.name),
           isMuon ? reader.getWritten(optimizer::betas)
                  : reader.get(optimizer::betas));
    // With another type the static graph's reader says that they do nothing.
    llvm::SmallVector<llvm::StringRef> names = {
        known::nameOf(&MuonConfig::momentum),
        known::nameOf(&MuonConfig::nesterov),
        known::nameOf(&MuonConfig::matchedAdamWRms),
        known::nsSteps.name,
        known::nsCoefficients.name,
        known::adamwBetas.name,
        known::adamwEps.name,
        known::adamwInclude.name,
        known::commStrategy.name,
        known::qkClipEnabled.name,
        known::qkClipThreshold.name,
        known::nameOf(&OptimizerConfig::swap)};
    for (llvm::StringRef key : names)
      to.set(getSamePath(key), section[key]);
    llvm::append_range(names, fusedAdamKeys);
    reader.warnAboutOthers(optimizer::section, names);
    if (isMuon)
      writeMuon();
  }

  /// The keys have the same names in both formats, but some defaults differ.
  void writeMuon() {
    const Node section = reader.getSection(optimizer::section);
    auto set = [&](const KnownKey &key, const Node &value) {
      if (!section[key.name])
        to.set(getPath(optimizerSection, key), value);
    };
    auto makeNumber = [&](llvm::StringRef text) {
      return makeScalar(reader.get(optimizer::type), text);
    };
    set(known::adamwInclude,
        makeList(section, {makeString(section, "*word_embeddings*"),
                           makeString(section, "*output_layer*")}));
    set(known::adamwBetas, makeList(section, {makeScalar(section, "0.95"),
                                              makeScalar(section, "0.95")}));
    Node model = root[model::section];
    // Hybrid attention has no largest logits by which weights could be clipped.
    if (section[known::qkClipThreshold.name] ||
        section[known::qkClipEnabled.name] || !hasHybridAttention(model))
      set(known::qkClipThreshold, makeNumber("100.0"));
    else
      set(known::qkClipEnabled, makeNumber("False"));
    const bool isLatent =
        keys::multiLatentAttention.find(model).getBool().value_or(
            keys::modelType.find(model).getText() != "qwen3");
    if (!isLatent)
      reader.error(optimizer::type,
                   "Current Muon implementation only supports models with "
                   "Multi-Latent Attention enabled; set " +
                       quote(keys::multiLatentAttention.getName()) +
                       " or take AdamW");
  }

  void writeRates() {
    const Node section = reader.getSection(lrScheduler::section);
    to.place(lrScheduleSection.name, section);
    // A type that is null is an error already.
    if (section[lrScheduler::type.name].getKind() == NodeKind::Null)
      return;
    reader.warnAboutOthers(lrScheduler::section, lrScheduleSection.getNames());
    for (const Node::Entry &entry : section.getEntries())
      if (const KnownKey *key = lrScheduleSection.find(entry.key.getText()))
        to.set(getPath(*key), entry.value);
    copy(lrScheduler::learningRate);
    const DynamicKey &key = training::steps;
    Node steps = reader.get(key);
    if (reader.getInt(key) < 1)
      reader.error(key, "expected " + quote(key.name) +
                            " of at least 1, but got " + steps.repr(60));
    else
      copy(key);
    const llvm::StringRef total = key.counterpart().name;
    if (Node given = section[total]; given && given.getInt() != steps.getInt())
      diagnostics.warning(given.getLocation(),
                          quote(total) +
                              " has no effect: the trainer sets it to " +
                              key.getPath() + " " + steps.repr(60));
  }

  void writeModel() {
    Node model = readDynamicModel(root, layout, diagnostics);
    if (!model)
      return;
    const std::string path = getPath(modelSection, known::modelConfig);
    to.place(modelSection.name, root[model::section]);
    to.place(path, root[model::section]);
    for (const Node::Entry &entry : model.getEntries())
      to.set(path + "." + entry.key.getText().str(), entry.value);
    writeOffset(model);
    writeBalance(model);
  }

  /// Writes the callback that updates the bias of the experts once per step,
  /// with a pipeline or with gradient accumulation.
  void writeBalance(const Node &model) {
    const Node bias = keys::expertBias.find(model);
    const Node experts = keys::numExperts.find(model, keys::Mcore);
    if (!bias.getBool().value_or(false) || experts.getInt().value_or(0) < 1)
      return;
    if (keys::firstDenseLayers.find(model).getInt().value_or(0) >=
        readDynamicDepth(model).layers)
      return;
    NodeBuilder callback(bias);
    callback.set(known::callbackType.name, balanceCallbackSection.name, bias);
    callback.set(known::balanceSwitch.name, printBool(true), bias);
    callback.set(known::nameOf(&BalanceCallback::expertNum), experts);
    callback.set(known::nameOf(&BalanceCallback::microBatchNum),
                 llvm::Twine(layout.pipeline > 1 ? layout.microBatches : 1),
                 bias);
    callback.set(known::nameOf(&BalanceCallback::gradientAccumulationSteps),
                 llvm::Twine(layout.pipeline > 1 ? 1 : layout.microBatches),
                 bias);
    to.set(known::callbackList.name, makeList(bias, {callback.build()}));
  }

  /// Sets the counterpart of `key` to a value that follows from it.
  void set(const DynamicKey &key, const llvm::Twine &text) {
    to.set(getPath(key.counterpart()), text, reader.get(key));
  }
  /// Sets the counterpart to the same value.
  void copy(const DynamicKey &key) {
    to.set(getPath(key.counterpart()), reader.get(key));
  }
  /// Sets the key with this member to a value that follows from `key`.
  template <typename Part, typename Value>
  void set(Value Part::*member, const llvm::Twine &text,
           const DynamicKey &key) {
    to.set(getPath(member), text, reader.get(key));
  }
  template <typename Part, typename Value>
  void set(Value Part::*member, const llvm::Twine &text, const Node &origin) {
    to.set(getPath(member), text, origin);
  }

  const Node &root;
  const DynamicLayout &layout;
  DiagnosticList &diagnostics;
  DynamicReader reader;
  NodeBuilder to;
};

} // namespace

Node translateDynamicFormat(const Node &root, const DynamicLayout &layout,
                            DiagnosticList &diagnostics) {
  return StaticSections(root, layout, diagnostics).write();
}

} // namespace mf

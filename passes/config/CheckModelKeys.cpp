//===- CheckModelKeys.cpp - Whether a model is that of a YAML -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/config/ReadConfig.h"

using namespace mlir;
using namespace mf;

/// The key whose value is not that of the YAML but the product with
/// data_parallel.
static constexpr llvm::StringLiteral batchSize = "batch_size";
/// What the names of keys of the layout begin with.
static constexpr llvm::StringLiteral ofLayout = "parallel_config.";

namespace {

/// A key with another value than that of the model.
struct ChangedKey {
  std::string path;
  std::string before, now;
  mf::Location location;
  /// True for the product of the value and the data-parallel ranks.
  bool isPerRank = false;
};

} // namespace

/// Returns the value of a key as the importer names it.
static Node findKey(const TrainingConfig &config, llvm::StringRef path) {
  if (path.consume_front("moe_config."))
    return config.moe.node[path];
  return path == "lora_config" ? config.model.adapters
                               : config.model.config[path];
}

/// Returns the keys that the importer would read and that had no value when the
/// model was made; none if it cannot read the YAML alone.
static std::vector<ChangedKey> findAdded(const TrainingConfig &config,
                                         DictionaryAttr known) {
  DiagnosticList ignored;
  const std::optional<ModelSpec> spec = readModelSpec(config, {}, ignored);
  std::vector<ChangedKey> added;
  if (spec)
    for (const auto &[path, value] : spec->madeFrom)
      if (!known.contains(path) && !llvm::StringRef(path).starts_with(ofLayout))
        added.push_back({path, "", value, findKey(config, path).getLocation()});
  return added;
}

/// Returns whether the samples of a micro-batch differ, over all of
/// data_parallel. A YAML that leaves the batch size out takes the model's.
static std::optional<ChangedKey> findChangedBatch(const TrainingConfig &config,
                                                  llvm::StringRef known) {
  const Node written = known::find(config.runner, &RunnerConfig::batchSize);
  if (!written)
    return std::nullopt;
  DiagnosticList ignored;
  const std::string now = std::to_string(
      config.runner.batchSize * resolveRanks(config, ignored).dataParallel);
  if (now == known)
    return std::nullopt;
  return ChangedKey{config.isOfDynamicGraph() ? "local_batch_size"
                                              : "batch_size",
                    known.str(), now, written.getLocation(),
                    /*isPerRank=*/true};
}

/// Returns the model that the importer makes for a layout, with as many samples
/// on all data-parallel ranks as for the YAML's own; null if there is none.
static OwningOpRef<ModuleOp> importFor(TrainingConfig layout,
                                       const TrainingConfig &own,
                                       MLIRContext *context) {
  DiagnosticList ignored;
  const int64_t samples =
      own.runner.batchSize * resolveRanks(own, ignored).dataParallel;
  const int64_t replicas = resolveRanks(layout, ignored).dataParallel;
  if (samples % replicas != 0)
    return nullptr;
  layout.runner.batchSize = samples / replicas;
  // On these ranks nothing cuts the vocabulary, whatever the key says.
  if (own.parallel.modelParallel == 1)
    layout.parallel.vocabEmbDp = own.parallel.vocabEmbDp;
  std::optional<ModelSpec> spec = readModelSpec(layout, {}, ignored);
  if (!spec || ignored.hasErrors())
    return nullptr;
  spec->madeFrom.clear();
  return buildModel(context, *spec);
}

static bool areEquivalent(OwningOpRef<ModuleOp> &one,
                          OwningOpRef<ModuleOp> &other) {
  return OperationEquivalence::isEquivalentTo(
      *one, *other, OperationEquivalence::IgnoreLocations);
}

/// Returns the changed keys of the layout on which the model depends. Few
/// models depend on any, so that the importer is asked: it makes the model for
/// the layout before and for the one now.
static std::vector<ChangedKey> findChangedLayout(const TrainingConfig &config,
                                                 DictionaryAttr known,
                                                 MLIRContext *context) {
  LayoutValues now = listLayoutValues(config), then;
  for (const NamedAttribute key : known)
    if (llvm::StringRef name = key.getName(); name.consume_front(ofLayout))
      then[name.str()] = cast<StringAttr>(key.getValue()).str();
  // Each layout has the values that are not the default.
  LayoutValues keys = now;
  keys.insert(then.begin(), then.end());
  TrainingConfig before = config;
  std::vector<ChangedKey> changed;
  for (const auto &[key, either] : keys) {
    const std::string unset = getDefaultLayoutValue(key);
    const std::string &old = then.try_emplace(key, unset).first->second;
    const std::string &own = now.try_emplace(key, unset).first->second;
    if (old == own)
      continue;
    setLayoutValue(key, old, before);
    changed.push_back({key, old, own, config.parallel.node[key].getLocation()});
  }
  if (changed.empty())
    return {};
  OwningOpRef<ModuleOp> ofNow = importFor(config, config, context);
  OwningOpRef<ModuleOp> ofBefore = importFor(before, config, context);
  if (!ofNow || !ofBefore || areEquivalent(ofNow, ofBefore))
    return {};
  // Those whose old value alone makes another model.
  std::vector<ChangedKey> causes;
  for (const ChangedKey &change : changed) {
    TrainingConfig other = config;
    setLayoutValue(change.path, change.before, other);
    OwningOpRef<ModuleOp> model = importFor(other, config, context);
    if (model && !areEquivalent(ofNow, model))
      causes.push_back(change);
  }
  return causes.empty() ? changed : causes;
}

static std::string showChange(const ChangedKey &key) {
  std::string text = quote(key.path) +
                     (key.isPerRank ? " times the data-parallel ranks" : "") +
                     " is " + key.now;
  if (key.before.empty())
    return text + ", but the YAML of the model did not have this key";
  return text + ", but the model was imported with " + key.before;
}

void mf::passes::checkModelKeys(ModuleOp module, const TrainingConfig &config,
                                DiagnosticList &diagnostics) {
  const auto known =
      module->getAttrOfType<DictionaryAttr>(ir::ModelSource::attributeName);
  module->removeAttr(ir::ModelSource::attributeName);
  if (!known || !config.model.config.isMap())
    return;
  std::vector<ChangedKey> changed;
  for (const NamedAttribute key : known) {
    const llvm::StringRef path = key.getName();
    const llvm::StringRef value = cast<StringAttr>(key.getValue());
    if (path.starts_with(ofLayout))
      continue;
    if (path == batchSize) {
      if (auto batch = findChangedBatch(config, value))
        changed.push_back(std::move(*batch));
      continue;
    }
    const Node now = findKey(config, path);
    if (!now.isUndefinedOrNull() && describeKeyValue(now) != value)
      changed.push_back(
          {path.str(), value.str(), describeKeyValue(now), now.getLocation()});
  }
  for (ChangedKey &key : findAdded(config, known))
    changed.push_back(std::move(key));
  for (ChangedKey &key : findChangedLayout(config, known, module.getContext()))
    changed.push_back(std::move(key));
  if (changed.empty())
    return;
  Diagnostic &error = diagnostics.error(
      changed.front().location,
      showChange(changed.front()) +
          "; expected the model of this YAML, import it again (mf import, or "
          "mf-translate --import-mindformers)");
  for (const ChangedKey &key : llvm::ArrayRef(changed).drop_front())
    error.attachNote(showChange(key), key.location);
}

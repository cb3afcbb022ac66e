//===- ModelKeys.cpp - Whether a model is that of a YAML ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ModelKeys.h"
#include "dialects/mf/ModelSource.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Import/ModelSpec.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mf;

/// The key whose value is not that of the YAML but the product with
/// data_parallel.
static constexpr llvm::StringLiteral batchSize = "batch_size";

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
      if (!known.contains(path))
        added.push_back({path, "", value, findKey(config, path).getLocation()});
  return added;
}

/// Returns whether the samples of a micro-batch differ, over all of
/// data_parallel. A YAML that leaves the batch size out takes the model's.
static std::optional<ChangedKey> findChangedBatch(const TrainingConfig &config,
                                                  llvm::StringRef known) {
  const Node written = config.runner.node["batch_size"];
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

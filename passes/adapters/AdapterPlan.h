//===- AdapterPlan.h - Layers with adapters, trained parameters -*- C++ -*-===//
//
// MindSpore Transformers' rules of which linear layers get low-rank adapters
// and of which parameters are then trained. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_ADAPTERS_ADAPTERPLAN_H
#define MF_PASSES_ADAPTERS_ADAPTERPLAN_H

#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mf::passes {

/// The part of pet_config that is about names.
struct AdapterRules {
  int64_t rank = 8;
  /// A regular expression that matches from the start of a Cell's name.
  std::string target;
  /// Regular expressions of Cells that stay as they are, with all in them.
  std::vector<std::string> exclude;
  /// The names of adapters begin with it.
  std::string prefix;
  /// Globs over names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
};

/// A linear layer by the path of its Cell from the network on, as in
/// `model.layers.0.attention.wq`.
struct LinearLayer {
  std::string path;
  int64_t numInputs = 0, numOutputs = 0;
};

struct WeightToTrain {
  std::string name;
  int64_t numElements = 0;
};

struct AdapterPlan {
  /// By linear layer, whether it gets adapters.
  std::vector<bool> isAdapted;
  /// By parameter of the model before, whether it is trained.
  std::vector<bool> isTrained;
  int64_t numAdapted = 0;
  /// Elements of the adapters, and of all other parameters that are trained or
  /// not.
  int64_t adapterElements = 0, trainedElements = 0, frozenElements = 0;

  int64_t getTrainedElements() const {
    return adapterElements + trainedElements;
  }
};

/// The plan, or with `error` none: a pattern that is no regular expression, or
/// one that matches no linear layer; the message names near ones.
std::optional<AdapterPlan>
planAdapters(const AdapterRules &rules, const std::vector<LinearLayer> &layers,
             const std::vector<WeightToTrain> &parameters, std::string &error);

/// Finds those operators of a layer, by name, that adapters add. MindSpore
/// Transformers inserts these once patterns for recomputation and swap have
/// been matched, so no pattern can name them.
std::set<std::string>
findAdapterOperators(const std::vector<std::string> &names);

void printAdapters(const AdapterRules &rules,
                   const std::vector<LinearLayer> &layers,
                   const std::vector<WeightToTrain> &parameters,
                   const AdapterPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_ADAPTERS_ADAPTERPLAN_H

//===- AdapterPlan.h - Adapted layers and trained parameters ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MindSpore Transformers' rules about which linear layers get low-rank adapters
// and which parameters are trained. This file does not depend on IR.
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

/// The part of pet_config that concerns names.
struct AdapterRules {
  int64_t rank = 8;
  /// A regular expression that matches a prefix of a Cell's name.
  std::string target;
  /// Regular expressions of Cells that, with everything in them, get no
  /// adapters.
  std::vector<std::string> exclude;
  /// The prefix of the names of adapters.
  std::string prefix;
  /// Globs that match names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
};

/// A linear layer, identified by the path of its Cell from the network on, for
/// example `model.layers.0.attention.wq`.
struct LinearLayer {
  std::string path;
  int64_t numInputs = 0, numOutputs = 0;
};

struct WeightToTrain {
  std::string name;
  int64_t numElements = 0;
};

struct AdapterPlan {
  /// For each linear layer, whether it gets adapters.
  std::vector<bool> isAdapted;
  /// For each parameter of the original model, whether it is trained.
  std::vector<bool> isTrained;
  int64_t numAdapted = 0;
  /// The alternatives of the pattern that match nothing; empty if there are
  /// none.
  std::string warning;
  /// The number of elements of the adapters, and of all other parameters that
  /// are trained or frozen.
  int64_t adapterElements = 0, trainedElements = 0, frozenElements = 0;

  int64_t getTrainedElements() const {
    return adapterElements + trainedElements;
  }
};

/// Plans the adapters. Returns none and sets `error` if a pattern is not a
/// regular expression or matches no linear layer. The message suggests similar
/// names.
std::optional<AdapterPlan>
planAdapters(const AdapterRules &rules, const std::vector<LinearLayer> &layers,
             const std::vector<WeightToTrain> &parameters, std::string &error);

/// Returns those names of operators of a layer that adapters add. MindSpore
/// Transformers inserts these after it has matched patterns for recomputation
/// and swap, so that no pattern can match them.
std::set<std::string>
findAdapterOperators(const std::vector<std::string> &names);

void printAdapters(const AdapterRules &rules,
                   const std::vector<LinearLayer> &layers,
                   const std::vector<WeightToTrain> &parameters,
                   const AdapterPlan &plan, llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_ADAPTERS_ADAPTERPLAN_H

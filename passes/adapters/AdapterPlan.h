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

/// The part of pet_config or lora_config that concerns names.
struct AdapterRules {
  int64_t rank = 8;
  /// A regular expression that matches a prefix of a Cell's name or, if
  /// `matchesPaths` is true, some part of its path.
  std::string target;
  bool matchesPaths = false;
  /// Regular expressions, matched alike, of Cells that, with everything in
  /// them, get no adapters.
  std::vector<std::string> exclude;
  /// The names of A and B, which follow the path of their layer.
  std::string nameA, nameB;
  /// Globs that match names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
  /// True if parameters are trained that both lists match, or neither. Those of
  /// adapters always are.
  bool trainsOthers = false;
  /// The Cell of the network that contains all layers, if names of parameters
  /// do not begin with it.
  std::string network;
};

/// A linear layer, identified by the path of its Cell in names of parameters,
/// for example `model.layers.0.attention.wq`. One weight of all routed experts
/// of a layer is a linear layer, too.
struct LinearLayer {
  std::string path;
  int64_t numInputs = 0, numOutputs = 0;
  /// What the names of A and B begin with: `weight1_` for experts.
  std::string prefix = {};
  /// The number of matrices of this size.
  int64_t numExperts = 1;
};

struct WeightToTrain {
  std::string name;
  int64_t numElements = 0;
};

struct AdapterPlan {
  /// For each linear layer, whether it gets adapters, and whether A and B are
  /// trained.
  std::vector<bool> isAdapted, trainsA, trainsB;
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
/// regular expression, if none matches a linear layer, or if nothing is
/// trained. The message suggests similar names.
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

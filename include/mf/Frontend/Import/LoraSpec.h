//===- LoraSpec.h - Low-rank adapters of linear layers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// model_config.pet_config with pet_type lora, resolved for a release, or
// lora_config of the dynamic graph: the linear layers that get adapters, the
// sizes, types and names of adapters, and the parameters of the model that are
// trained in addition.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_LORASPEC_H
#define MF_FRONTEND_IMPORT_LORASPEC_H

#include "mf/Support/DType.h"
#include "mf/Support/Diagnostic.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The adapters of a model.
struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  /// The fraction of an adapter's input that is dropped at random.
  double dropout = 0.01;
  /// A regular expression that matches a prefix of a Cell's name or, if
  /// `matchesPaths` is true, some part of its path.
  std::string target;
  bool matchesPaths = false;
  /// Regular expressions of Cells that, with everything in them, get no
  /// adapters.
  std::vector<std::string> exclude;
  /// Globs that match names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
  /// True if parameters are trained that both lists match, or neither.
  bool trainsOthers = false;
  /// The names of A and B, which follow the name of their Cell.
  std::string nameA = "mindpet_delta_lora_a", nameB = "mindpet_delta_lora_b";
  /// The standard deviations of the first values. Without them A is uniform
  /// between -1/sqrt(in) and 1/sqrt(in), and B is zero.
  std::optional<double> deviationA, deviationB;
  /// If empty, the adapter has the types of its layer.
  std::optional<DType> paramType, computeType;
  /// The place of the target in the YAML, or of the key that implies it.
  Location location;
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_LORASPEC_H

//===- LoraSpec.h - Low-rank adapters of linear layers ----------*- C++ -*-===//
//
// model_config.pet_config with pet_type lora, resolved by release: which linear
// layers get adapters, of what size and types, and which parameters of the
// model are trained beside them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_LORASPEC_H
#define MF_IMPORT_LORASPEC_H

#include "mf/Frontend/Config/Diagnostic.h"
#include "mf/Support/DType.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  /// The share of an adapter's input that is dropped at random.
  double dropout = 0.01;
  /// A regular expression that matches from the start of a Cell's name.
  std::string target;
  /// Regular expressions of Cells that stay as they are, with all in them.
  std::vector<std::string> exclude;
  /// Globs over names of parameters.
  std::vector<std::string> freezeInclude, freezeExclude;
  /// The names of adapters, behind that of their Cell, begin with it.
  std::string prefix = "mindpet_delta_lora";
  /// None stands for the types of the layer that an adapter is for.
  std::optional<DType> paramType, computeType;
  /// The place of the target in the YAML, or of what stands for it.
  Location location;
};

} // namespace mf

#endif // MF_IMPORT_LORASPEC_H

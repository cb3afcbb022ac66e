//===- PrefixSpec.h - Trained keys and values before the tokens -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// model_config.pet_config with pet_type prefixtuning or ptuning2: keys and
// values of every layer that precede those of the tokens. Only these are
// trained (Li and Liang, 2021; Liu et al., 2022).
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_PREFIXSPEC_H
#define MF_FRONTEND_IMPORT_PREFIXSPEC_H

#include "mf/Support/DType.h"
#include <cstdint>
#include <string>

namespace mf {

/// The trained keys and values of a model.
struct PrefixSpec {
  /// The number of positions before the tokens.
  int64_t length = 128;
  /// The hidden size of the two linear layers that follow the table; 0 without
  /// them.
  int64_t middleSize = 0;
  double dropout = 0.0;
  DType tableType = DType::F16;
  /// The Cell that computes them, and the prefix of the names of its
  /// parameters.
  std::string cell, parameterPrefix;
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_PREFIXSPEC_H

//===- TensorTrace.h - Order and roundings of dumped tensors ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In addition to values, a dump records the order in which a step computed its
// tensors, and the number and size of the roundings that each result went
// through. They are stored in the entry `trace` of the safetensors file's
// metadata, as a JSON list of [name, depth, rounding].
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_TENSORTRACE_H
#define MF_EXEC_DATA_TENSORTRACE_H

#include "mf/Exec/Data/Safetensors.h"

namespace mf {

/// Returns half the distance from 1 to the next number of a floating-point
/// type, which is the largest relative error of one rounding: 2^-24 for f32,
/// 2^-8 for bf16, 2^-11 for f16. Returns 0 for integers.
double getUnitRoundoff(DType type);

/// One tensor of a dump.
struct TracedTensor {
  std::string name;
  /// The number of operators of its micro-batch that ran up to and including
  /// its own. It bounds the number of successive roundings.
  int64_t depth = 0;
  /// The largest unit roundoff of the results of these operators.
  double rounding = 0;
};

/// Tensors in the order in which the step computed them.
using TensorTrace = std::vector<TracedTensor>;

/// The key in the metadata.
constexpr llvm::StringRef traceKey = "trace";

std::string printTrace(llvm::ArrayRef<TracedTensor> trace);

/// Returns the trace of a file, or an empty one if the file has none. Fails if
/// it is malformed or names a tensor that the file does not have.
llvm::Expected<TensorTrace> readTrace(const SafetensorsFile &file);

} // namespace mf

#endif // MF_EXEC_DATA_TENSORTRACE_H

//===- TensorTrace.h - Order and roundings of dumped tensors ---*- C++ -*-===//
//
// The file of a dump knows of its tensors more than their values: in which
// order a step made them, and how many roundings of which size lie behind each.
// It is the entry `trace` of a safetensors file's metadata: a JSON list of
// [name, depth, rounding].
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_TENSORTRACE_H
#define MF_DATA_TENSORTRACE_H

#include "mf/Exec/Data/Safetensors.h"

namespace mf {

/// Half the distance from 1 to the next number of a floating-point type, the
/// largest relative error of one rounding: 2^-24 of f32, 2^-8 of bf16, 2^-11 of
/// f16. 0 for integers.
double getUnitRoundoff(DType type);

/// One tensor of a dump.
struct TracedTensor {
  std::string name;
  /// How many operators of its micro-batch ran up to it, itself included: at
  /// most so many roundings follow each other.
  int64_t depth = 0;
  /// The largest unit roundoff of their results.
  double rounding = 0;
};

/// In the order in which the step made them.
using TensorTrace = std::vector<TracedTensor>;

/// The key of the metadata.
constexpr llvm::StringRef traceKey = "trace";

std::string printTrace(llvm::ArrayRef<TracedTensor> trace);

/// The trace of a file; empty if the file has none. Fails if it is malformed or
/// names a tensor that the file does not have.
llvm::Expected<TensorTrace> readTrace(const SafetensorsFile &file);

} // namespace mf

#endif // MF_DATA_TENSORTRACE_H

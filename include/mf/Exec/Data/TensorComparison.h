//===- TensorComparison.h - Which tensors of two runs differ ---*- C++ -*-===//

#ifndef MF_DATA_TENSORCOMPARISON_H
#define MF_DATA_TENSORCOMPARISON_H

#include "mf/Exec/Data/NamePairs.h"
#include "mf/Exec/Data/TensorTrace.h"

namespace mf {

/// Two tensors that should be the same.
struct ComparedTensor {
  /// In the first file, and in the second.
  std::string ours, theirs;
  /// Norm of the difference over the norm of the first file's tensor. 0 if both
  /// are zero; infinite if one is, or if the second has a NaN or an infinity
  /// where the first has something else.
  double error = 0;
  /// The largest error that roundings explain.
  double tolerance = 0;
  int64_t depth = 0;
  double rounding = 0;

  bool isWrong() const { return !(error <= tolerance); }
};

struct TensorComparison {
  /// In the order of the first file's trace.
  std::vector<ComparedTensor> tensors;
  /// The names of the first file that are not compared.
  std::vector<std::string> skipped;

  /// The first tensor that is wrong, or null.
  const ComparedTensor *findFirstWrong() const;
};

struct ComparisonRule {
  /// Pairs names; null compares tensors of equal names.
  const NamePairs *names = nullptr;
  /// Times rounding * sqrt(depth) is the tolerance: errors of operators add up
  /// like a random walk.
  double factor = 8;
};

/// Compares the tensors of `theirs` with those of `ours`, which is a dump with
/// a trace. Fails if shapes differ, if one is of integers and the other is not,
/// if nothing can be compared, or if a line of the names fits nothing.
llvm::Expected<TensorComparison> compareTensors(const SafetensorsFile &ours,
                                                const SafetensorsFile &theirs,
                                                const ComparisonRule &rule);

} // namespace mf

#endif // MF_DATA_TENSORCOMPARISON_H

//===- TensorComparison.h - Compares the tensors of two runs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_DATA_TENSORCOMPARISON_H
#define MF_EXEC_DATA_TENSORCOMPARISON_H

#include "mf/Exec/Data/TensorTrace.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// A table that maps names of tensors in one file to names in another, with a
/// pair of names per line:
///
///   # ours                                       theirs
///   step.1/micro.0/layers.*.attention.wq.matmul = model.layers.*.q_proj
///   step.1/gradient/*                           = grad.*
///
/// A star matches any text, the same on both sides, in the order of the stars.
/// The first line that matches a name applies.
class NamePairs {
public:
  struct Line {
    unsigned number = 0;
    std::string ours, theirs;
  };

  /// Parses a table. Errors name `path` and the line.
  static llvm::Expected<NamePairs> parse(llvm::StringRef text,
                                         llvm::StringRef path);

  struct Pair {
    std::string theirs;
    /// An index into getLines().
    size_t line = 0;
  };
  /// Returns the other name of `ours`, or none if no line matches.
  std::optional<Pair> find(llvm::StringRef ours) const;

  const std::vector<Line> &getLines() const { return lines; }

private:
  std::vector<Line> lines;
};

/// A pair of tensors that should be equal.
struct ComparedTensor {
  /// The names in the first and in the second file.
  std::string ours, theirs;
  /// The norm of the difference divided by the norm of the first file's tensor.
  /// 0 if both are zero. Infinite if only one is zero, or if the second has a
  /// NaN or an infinity where the first has another value.
  double error = 0;
  /// The largest error that rounding explains.
  double tolerance = 0;
  int64_t depth = 0;
  double rounding = 0;

  bool isWrong() const { return !(error <= tolerance); }
};

/// The result of comparing two files.
struct TensorComparison {
  /// The pairs in the order of the first file's trace.
  std::vector<ComparedTensor> tensors;
  /// The names in the first file that have no counterpart.
  std::vector<std::string> skipped;

  /// Returns the first tensor whose error exceeds its tolerance, or null.
  const ComparedTensor *findFirstWrong() const;
};

/// The pairs of tensors that are compared, and the error that is accepted.
struct ComparisonRule {
  /// Maps names of the first file to the second. Null compares tensors of equal
  /// names.
  const NamePairs *names = nullptr;
  /// The tolerance is factor * rounding * sqrt(depth), because the errors of
  /// operators accumulate like a random walk.
  double factor = 8;
};

/// Compares the tensors of `theirs` with those of `ours`, which must be a dump
/// with a trace. Fails if shapes differ, if only one of two tensors has an
/// integer type, if nothing can be compared, or if a line of the names matches
/// nothing.
llvm::Expected<TensorComparison> compareTensors(const SafetensorsFile &ours,
                                                const SafetensorsFile &theirs,
                                                const ComparisonRule &rule);

/// Prints the first tensor that is wrong with its error, and the tensors before
/// and after it. There must be one.
void printFirstWrong(const TensorComparison &comparison, llvm::raw_ostream &os);

} // namespace mf

#endif // MF_EXEC_DATA_TENSORCOMPARISON_H

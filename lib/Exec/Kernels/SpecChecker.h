//===- SpecChecker.h - Checks a KernelSpec ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_SPECCHECKER_H
#define MF_LIB_EXEC_KERNELS_SPECCHECKER_H

#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace mf {

/// Returns, for example, "4x5xbf16", as MLIR prints it.
std::string toString(const TensorShape &shape);

/// Reads a specification that matches its kernel's signature, and keeps the
/// first error. After an error, further checks do nothing and the getters
/// return defaults. A kernel's factory calls `hasFailed` before it accesses a
/// shape by an index that it has not checked, and `takeError` at the end.
class SpecChecker {
public:
  explicit SpecChecker(const KernelSpec &spec) : spec(spec) {}

  bool hasFailed() const { return message.has_value(); }

  /// Returns the error, or success. Must be called once.
  llvm::Error takeError() const;

  /// Records the error `what` unless `condition` holds.
  void require(bool condition, const llvm::Twine &what);

  /// Requires that each tensor has at least one element and that its bytes can
  /// be counted. Returns false if not.
  bool requireTensors();

  void requireFloatInput(size_t index);
  void requireFloatOutput(size_t index);
  void requireInput(size_t index, const TensorShape &expected);
  void requireOutput(size_t index, const TensorShape &expected);
  void requireInputType(size_t index, DType expected);
  void requireOutputType(size_t index, DType expected);
  /// Requires at least `rank` dimensions.
  void requireInputRank(size_t index, size_t rank);

  /// Returns whether the kernel's record has an input of this name.
  bool hasInput(llvm::StringRef name) const;

  bool getBool(llvm::StringRef name, bool whenAbsent) const;
  int64_t getInt(llvm::StringRef name) const;
  double getDouble(llvm::StringRef name) const;
  double getDouble(llvm::StringRef name, double whenAbsent) const;
  const std::vector<int64_t> &getInts(llvm::StringRef name) const;
  const std::vector<double> &getDoubles(llvm::StringRef name) const;
  /// Reads an axis of a tensor of `rank` dimensions. A negative value counts
  /// from the end.
  int64_t getAxis(llvm::StringRef name, size_t rank);

private:
  void requireFloat(const TensorShape &shape, llvm::StringRef role,
                    size_t index);
  void requireCountable(const TensorShape &shape, llvm::StringRef role,
                        size_t index);
  template <typename T> const T &get(llvm::StringRef name) const;

  const KernelSpec &spec;
  std::optional<std::string> message;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_SPECCHECKER_H

//===- SpecChecker.h - Checks a KernelSpec ----------------------*- C++ -*-===//

#ifndef MF_LIB_KERNELS_SPECCHECKER_H
#define MF_LIB_KERNELS_SPECCHECKER_H

#include "mf/Exec/Kernels/Kernel.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace mf {

/// "4x5xbf16", as MLIR prints it.
std::string toString(const TensorShape &shape);

/// Reads a specification that agrees with its kernel's signature, and keeps the
/// first thing that is wrong with it.
/// After a failure the checks that follow do nothing and the getters return
/// defaults; a kernel's factory asks `hasFailed` before it uses a shape by an
/// index it has not checked, and `takeError` at the end.
class SpecChecker {
public:
  explicit SpecChecker(const KernelSpec &spec) : spec(spec) {}

  bool hasFailed() const { return message.has_value(); }

  /// The error, or success. To be called once.
  llvm::Error takeError() const;

  /// Fails with `what` unless `condition` holds.
  void require(bool condition, const llvm::Twine &what);

  /// Requires that each tensor has 1 or more elements whose bytes can be
  /// counted. Returns false if not.
  bool requireTensors();

  void requireFloatInput(size_t index);
  void requireFloatOutput(size_t index);
  void requireInput(size_t index, const TensorShape &expected);
  void requireOutput(size_t index, const TensorShape &expected);
  void requireInputType(size_t index, DType expected);
  void requireOutputType(size_t index, DType expected);
  /// At least `rank` dimensions.
  void requireInputRank(size_t index, size_t rank);

  bool getBool(llvm::StringRef name, bool whenAbsent) const;
  int64_t getInt(llvm::StringRef name) const;
  double getDouble(llvm::StringRef name) const;
  double getDouble(llvm::StringRef name, double whenAbsent) const;
  const std::vector<int64_t> &getInts(llvm::StringRef name) const;
  /// An axis of a tensor of `rank` dimensions; negative counts from the end.
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

#endif // MF_LIB_KERNELS_SPECCHECKER_H

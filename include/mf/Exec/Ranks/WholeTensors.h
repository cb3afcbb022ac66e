//===- WholeTensors.h - Tensors assembled from slices -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_WHOLETENSORS_H
#define MF_EXEC_RANKS_WHOLETENSORS_H

#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mf::ranks {

/// The slice of a whole tensor that a rank holds, and a function that reads it.
struct RankTensor {
  int64_t rank = 0;
  TensorShape shape;
  /// Empty if the rank holds the whole tensor.
  std::optional<program::Slice> slice;
  /// Whether the tensor is a table of experts, of which files hold integers.
  bool isTokenExperts = false;
  /// Identifies the summand. Ranks that hold different summands of the same
  /// elements have different numbers.
  int64_t summand = 0;
  /// The location in the program, for errors.
  uint32_t location = 0;
  /// Returns the bytes, which are valid until the next call. If several
  /// processes assemble tensors, all of them call it for the same parts in the
  /// same order, and only the writer receives bytes.
  std::function<llvm::Expected<llvm::ArrayRef<uint8_t>>()> read;
};

/// The value of a tensor.
struct TensorValue {
  TensorShape shape;
  std::vector<uint8_t> bytes;
};
using TensorValues = std::map<std::string, TensorValue>;

/// Whole tensors by name, whose slices are on ranks. The slices must not change
/// until they are read. Only one tensor at a time is assembled.
class WholeTensors {
public:
  /// Only the writer holds whole tensors and writes a file.
  explicit WholeTensors(const program::Mesh &mesh, bool isWriter = true)
      : mesh(mesh), isWriter(isWriter) {}

  /// Adds (a part of) the tensor `name`. If a part, or one of its summands, is
  /// added several times, only the first addition counts. Summands are added in
  /// fp32 in the order of their additions. Fails with a LocatedError if the
  /// whole shape differs from that of earlier parts.
  llvm::Error add(const std::string &name, RankTensor part);

  /// Writes a safetensors file, or takes part in writing it. Fails if a part is
  /// missing.
  llvm::Error write(llvm::StringRef path) const;
  /// Returns all tensors. Fails if a part is missing.
  llvm::Expected<TensorValues> get() const;

private:
  /// The summands of one part.
  using Summands = std::vector<RankTensor>;
  struct Tensor {
    TensorShape shape;
    bool isTokenExperts = false;
    /// The parts, keyed by their first element in the whole tensor.
    std::map<int64_t, Summands> parts;
  };
  using BytesUser =
      llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t> bytes)>;

  llvm::Error checkWhole(const std::string &name, const Tensor &tensor) const;
  /// Reads the bytes of a part. The sum of several summands is stored in `sum`.
  llvm::Expected<llvm::ArrayRef<uint8_t>> read(const Summands &summands,
                                               std::vector<uint8_t> &sum) const;
  /// Assembles a tensor and, in the writer, passes it to `user`.
  llvm::Error use(const Tensor &tensor, BytesUser user) const;

  program::Mesh mesh;
  bool isWriter;
  std::map<std::string, Tensor> tensors;
};

/// Writes `tensors`, or returns the error that they hold.
llvm::Error writeTensors(llvm::StringRef path,
                         llvm::Expected<WholeTensors> tensors);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_WHOLETENSORS_H

//===- WholeTensors.h - Tensors put together from slices -------*- C++ -*-===//

#ifndef MF_RANKS_WHOLETENSORS_H
#define MF_RANKS_WHOLETENSORS_H

#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mf::ranks {

/// The slice of a whole tensor that a rank holds, and how its bytes are read.
struct RankTensor {
  int64_t rank = 0;
  TensorShape shape;
  /// There is no slice if the rank holds the whole.
  std::optional<program::Slice> slice;
  /// Ranks that hold other summands of the same elements have other numbers.
  int64_t summand = 0;
  /// The location in the program, for errors.
  uint32_t location = 0;
  /// Gives the bytes, which stay until the next call. If several processes put
  /// tensors together, all of them call it for the same parts in the same
  /// order, and only the writer gets bytes.
  std::function<llvm::Expected<llvm::ArrayRef<uint8_t>>()> read;
};

/// A tensor's value on its own.
struct TensorValue {
  TensorShape shape;
  std::vector<uint8_t> bytes;
};
using TensorValues = std::map<std::string, TensorValue>;

/// Whole tensors by name, whose slices lie on ranks. The parts must stay as
/// they are until they are read. One tensor at a time is put together.
class WholeTensors {
public:
  /// Only the writer holds whole tensors and writes a file.
  explicit WholeTensors(const program::Mesh &mesh, bool isWriter = true)
      : mesh(mesh), isWriter(isWriter) {}

  /// Adds (part of) the tensor `name`. The first addition of each part counts,
  /// or of each of its summands, which are added up in fp32 in the
  /// order in which they came. Fails with a LocatedError if the whole has
  /// another shape than before.
  llvm::Error add(const std::string &name, RankTensor part);

  /// Writes a safetensors file, or helps to. Fails if a part is missing.
  llvm::Error write(llvm::StringRef path) const;
  /// Fails if a part is missing.
  llvm::Expected<TensorValues> get() const;

private:
  /// The summands of one part.
  using Summands = std::vector<RankTensor>;
  struct Tensor {
    TensorShape shape;
    /// The parts by the element of the whole where they begin.
    std::map<int64_t, Summands> parts;
  };
  using BytesUser =
      llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t> bytes)>;

  llvm::Error checkWhole(const std::string &name, const Tensor &tensor) const;
  /// The bytes of a part; a sum of several summands lies in `sum`.
  llvm::Expected<llvm::ArrayRef<uint8_t>> read(const Summands &summands,
                                               std::vector<uint8_t> &sum) const;
  /// Puts a tensor together and, of the writer, hands it to `user`.
  llvm::Error use(const Tensor &tensor, BytesUser user) const;

  program::Mesh mesh;
  bool isWriter;
  std::map<std::string, Tensor> tensors;
};

/// Writes `tensors`, if they could be collected.
llvm::Error writeTensors(llvm::StringRef path,
                         llvm::Expected<WholeTensors> tensors);

} // namespace mf::ranks

#endif // MF_RANKS_WHOLETENSORS_H

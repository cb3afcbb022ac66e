//===- CheckpointParts.h - Checkpoints of ranks ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_CHECKPOINTPARTS_H
#define MF_EXEC_RANKS_CHECKPOINTPARTS_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace mf::ranks {

/// A part of a whole tensor: a range of elements along each dimension.
struct TensorPart {
  llvm::SmallVector<int64_t, 4> whole, first, dims;

  /// `firstElement` is the index in the whole tensor of the part's first
  /// element.
  TensorPart(llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> dims,
             int64_t firstElement);
};

/// The tensors of a checkpoint, independent of the ranks that wrote it: any
/// part of them can be assembled from those that the files hold.
class CheckpointParts {
public:
  /// Opens a checkpoint with one file per rank.
  static llvm::Expected<CheckpointParts>
  open(llvm::ArrayRef<std::string> paths);

  bool contains(llvm::StringRef name) const {
    return tensors.count(name.str()) != 0;
  }

  /// Fills `to` with a part. Fails if there is no such tensor, if its type or
  /// whole shape differs, or if the files do not hold all of the part.
  llvm::Error read(llvm::StringRef name, DType type, const TensorPart &part,
                   llvm::MutableArrayRef<uint8_t> to) const;

  /// Fills a static that checkpoints contain with the slice of `rank`.
  llvm::Error readStatic(const StateNames &names, const program::Mesh &mesh,
                         const program::Static &buffer, int64_t rank,
                         llvm::MutableArrayRef<uint8_t> to) const;

  /// Returns the key in the metadata of a rank's file that describes its part
  /// of a tensor.
  static std::string getKey(llvm::StringRef name) {
    return ("slice of " + name).str();
  }
  static std::string describe(llvm::ArrayRef<int64_t> whole,
                              int64_t firstElement);

private:
  struct SavedPart {
    TensorView tensor;
    TensorPart place;
  };
  llvm::Error add(const SafetensorsFile &file, llvm::StringRef path,
                  const std::string &name);

  std::vector<SafetensorsFile> files;
  /// The saved parts by name and first element. Several ranks may hold the same
  /// part.
  std::map<std::string, std::map<int64_t, SavedPart>> tensors;
};

/// Returns the bytes of a static by its index. They are valid until the next
/// call.
using StaticReader =
    llvm::function_ref<llvm::Expected<llvm::ArrayRef<uint8_t>>(uint32_t)>;

/// Writes a rank's file of a checkpoint with its slices of parameters and
/// moments. If several processes hold the ranks, all of them call it in the
/// same order, and processes that do not write the file pass an empty path.
llvm::Error saveCheckpointRank(const program::Mesh &mesh,
                               llvm::ArrayRef<program::Static> statics,
                               int64_t rank, llvm::StringRef path,
                               StaticReader read);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_CHECKPOINTPARTS_H

//===- CheckpointParts.h - Checkpoints of ranks ----------------*- C++ -*-===//

#ifndef MF_RANKS_CHECKPOINTPARTS_H
#define MF_RANKS_CHECKPOINTPARTS_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace mf::ranks {

/// A part of a whole tensor: along each dimension, some neighbouring elements.
struct TensorPart {
  llvm::SmallVector<int64_t, 4> whole, first, dims;

  /// From the first of its elements in the whole tensor.
  TensorPart(llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> dims,
             int64_t firstElement);
};

/// The tensors of a checkpoint, whatever ranks wrote it: any part of them can
/// be put together from those that the files hold.
class CheckpointParts {
public:
  /// One file per rank.
  static llvm::Expected<CheckpointParts>
  open(llvm::ArrayRef<std::string> paths);

  bool contains(llvm::StringRef name) const {
    return tensors.count(name.str()) != 0;
  }

  /// Fills `to` with a part. Fails if there is no such tensor, if it is of
  /// another type or whole shape, or if the files do not hold all of the part.
  llvm::Error read(llvm::StringRef name, DType type, const TensorPart &part,
                   llvm::MutableArrayRef<uint8_t> to) const;

  /// Fills a static that is in checkpoints with the slice that `rank` has.
  llvm::Error readStatic(const StateNames &names, const program::Mesh &mesh,
                         const program::Static &buffer, int64_t rank,
                         llvm::MutableArrayRef<uint8_t> to) const;

  /// The key in the metadata of a rank's file for a tensor that it has a part
  /// of.
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
  /// By name and first element: ranks may hold the same part.
  std::map<std::string, std::map<int64_t, SavedPart>> tensors;
};

/// Gives the bytes of a static by its number, until the next call.
using StaticReader =
    llvm::function_ref<llvm::Expected<llvm::ArrayRef<uint8_t>>(uint32_t)>;

/// Writes a rank's file of a checkpoint: parameters and moments, slices as they
/// are. If several processes hold the ranks, all of them call it in the same
/// order, and those that do not write the file have no path.
llvm::Error saveCheckpointRank(const program::Mesh &mesh,
                               llvm::ArrayRef<program::Static> statics,
                               int64_t rank, llvm::StringRef path,
                               StaticReader read);

} // namespace mf::ranks

#endif // MF_RANKS_CHECKPOINTPARTS_H

//===- CheckpointParts.h - Whole tensors in files of ranks -----*- C++ -*-===//

#ifndef MF_LIB_RUNNER_CHECKPOINTPARTS_H
#define MF_LIB_RUNNER_CHECKPOINTPARTS_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Support/DType.h"
#include <map>

namespace mf::runner {

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

} // namespace mf::runner

#endif // MF_LIB_RUNNER_CHECKPOINTPARTS_H

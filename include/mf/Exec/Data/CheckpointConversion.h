//===- CheckpointConversion.h - Renames checkpoint parameters ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rewrites the safetensors of a model with the names and the layout of another
// kind of checkpoint: from Hugging Face's to MindSpore Transformers' and back.
// Rows are copied from the mapped source to the new file. No tensor is held in
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_CHECKPOINTCONVERSION_H
#define MF_EXEC_DATA_CHECKPOINTCONVERSION_H

#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

/// The file that a conversion writes.
struct CheckpointConversion {
  /// The tensors to write. Each has the type of its tensors in the source, or
  /// F32 if it is assembled from tensors of several types.
  std::vector<NamedShape> targets;
  ParameterLayout layout;
  /// The type to which all tensors are converted, if set.
  std::optional<DType> type;
  /// The entry "format" of the new file's metadata. Hugging Face's loaders
  /// require `pt`.
  std::string format;
};

/// Assembles the targets from `source` and writes them to `path` atomically.
/// Fails if a target is not in the source or does not fit, or if a tensor of
/// the source would be lost. The head of a tied model may be lost if it equals
/// the embedding. Tables of rotary frequencies and the optimizer's moments may
/// be lost too, because they are not parameters.
llvm::Error convertCheckpoint(const SafetensorsCheckpoint &source,
                              const CheckpointConversion &conversion,
                              llvm::StringRef path);

} // namespace mf

#endif // MF_EXEC_DATA_CHECKPOINTCONVERSION_H

//===- CheckpointConversion.h - Renames checkpoint parameters ---*- C++ -*-===//
//
// Rewrites the safetensors of a model under the names, and in the layout, of
// another checkpoint of it: Hugging Face's to MindSpore Transformers' and back.
// Rows go from the mapped source to the new file; no tensor is held in memory.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_CHECKPOINTCONVERSION_H
#define MF_DATA_CHECKPOINTCONVERSION_H

#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

struct CheckpointConversion {
  /// The tensors to write. Their types are those of the source's tensors; F32
  /// where one is put together from several types.
  std::vector<NamedShape> targets;
  ParameterLayout layout;
  /// Converts all tensors to this type instead.
  std::optional<DType> type;
  /// The entry "format" of the new file's metadata: `pt` is what Hugging Face's
  /// loaders ask for.
  std::string format;
};

/// Writes the targets, put together from `source`, to `path`, which appears
/// whole or not at all. Fails if a target is nowhere in the source or does not
/// fit, or if a tensor of the source would be lost. The head of a tied model
/// may be lost if it equals the embedding, and so may tables of rotary
/// frequencies and the optimizer's moments, which are no parameters.
llvm::Error convertCheckpoint(const SafetensorsCheckpoint &source,
                              const CheckpointConversion &conversion,
                              llvm::StringRef path);

} // namespace mf

#endif // MF_DATA_CHECKPOINTCONVERSION_H

//===- WholeTensors.h - Tensors put together from slices -------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_WHOLETENSORS_H
#define MF_LIB_RUNNER_WHOLETENSORS_H

#include "GatheredStatics.h"
#include "mf/Data/SafetensorsWriter.h"
#include <map>

namespace mf::runner {

/// Whole tensors to write, whose slices lie on the ranks of a runner, or of
/// those of several processes.
class WholeTensors {
public:
  WholeTensors(Runner &runner, ProcessGroup *processes)
      : runner(runner), gathered(runner, processes) {}

  /// Adds static `number` of a rank as (part of) the tensor `name`. What was
  /// added first of each part counts. Fails with a LocatedError if the whole
  /// has another shape than before.
  llvm::Error add(const std::string &name, int64_t rank, uint32_t number);

  /// Writes a safetensors file, or helps to. Fails if a part is missing.
  llvm::Error write(llvm::StringRef path);

private:
  struct Part {
    int64_t rank = 0;
    uint32_t number = 0;
  };
  struct Tensor {
    TensorShape shape;
    /// By the element of the whole where they begin.
    std::map<int64_t, Part> parts;
  };

  const program::Static &getBuffer(const Part &part) const {
    return runner.getProgram().getStageOf(part.rank).statics[part.number];
  }
  llvm::Error checkWhole(const std::string &name, const Tensor &tensor) const;
  llvm::Error writeTensor(SafetensorsWriter &writer, const std::string &name,
                          const Tensor &tensor);

  Runner &runner;
  GatheredStatics gathered;
  std::map<std::string, Tensor> tensors;
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_WHOLETENSORS_H

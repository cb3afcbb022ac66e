//===- ModelState.h - Parameters, moments, gradients ----------*- C++ -*-===//
//
// The statics of all ranks by what they mean: initial values, safetensors
// files in and out.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RUNNER_MODELSTATE_H
#define MF_RUNNER_MODELSTATE_H

#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Exec/Ranks/WholeTensors.h"
#include "mf/Exec/Runner/Runner.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::runner {

class ProcessGroup;

/// The tensors of the ranks that live in a runner. In files a parameter has the
/// name that the program gives it (`of`), a gradient that of its parameter, and
/// moments `adam_m.` and `adam_v.` before it, as MindSpore names them, the
/// average `pma_weight.`. Files of parameters and gradients hold whole tensors,
/// put together from the ranks that hold slices; each part is that of the first
/// rank that holds it. A parameter that is tied to another is not saved: it is
/// the same.
///
/// With processes, the ranks live in the runners of all of them. Each reads
/// what its ranks need; the first one writes files, for which all call what
/// saves, with the same arguments.
class ModelState {
public:
  explicit ModelState(Runner &runner, ProcessGroup *processes = nullptr);

  /// Gives every static its first value. Parameters depend on their name and
  /// the seed alone, so that they are the same on any number of ranks, a slice
  /// like the whole; tied ones are equal. Gradients, moments and the rest are
  /// zero. Fails on a parameter or table that has no initial value.
  llvm::Error initialize(uint64_t seed);
  /// Lets `change` change the first values of parameters.
  llvm::Error changeParameters(uint64_t seed,
                               const ranks::TensorChange &change);

  /// Reads all parameters from safetensors files, indices or directories, of
  /// which later ones count; floating-point types convert. Fails on a tensor
  /// that is missing or of another shape. Where some parameters are not
  /// trained, those that are may be missing and stay as they are: the files may
  /// be those of the model without adapters. `notes` says which did, and which
  /// tensors of the files nobody reads.
  llvm::Error loadParameters(llvm::ArrayRef<std::string> paths,
                             std::vector<std::string> &notes);

  /// The parameters, and the gradients as they are, which are read from the
  /// runner when they are used.
  llvm::Expected<ranks::WholeTensors> collectParameters() const;
  /// The parameters that have moments.
  llvm::Expected<ranks::WholeTensors> collectTrained() const;
  llvm::Expected<ranks::WholeTensors> collectGradients() const;

  /// Parameters and moments of one rank, slices as they are: what a checkpoint
  /// holds.
  llvm::Error saveRank(int64_t rank, llvm::StringRef path) const;

  /// Loads the files of all ranks of a checkpoint, of this layout or another:
  /// each rank takes its slices from the files that hold them. Fails on a
  /// tensor of another type or whole shape, or that the files do not hold all
  /// of.
  llvm::Error loadRanks(llvm::ArrayRef<std::string> paths);

private:
  /// The statics to which `getName` gives a name.
  llvm::Expected<ranks::WholeTensors> collect(
      llvm::function_ref<std::string(const program::Static &)> getName) const;

  /// The ranks whose tensors are saved.
  std::vector<int64_t> getSavedRanks() const;

  Runner &runner;
  ProcessGroup *processes;
  ranks::StateNames names;
};

} // namespace mf::runner

#endif // MF_RUNNER_MODELSTATE_H

//===- ModelState.h - Parameters, moments, gradients ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The statics of all ranks by their meaning: initial values, and reading and
// writing of safetensors files.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RUNNER_MODELSTATE_H
#define MF_EXEC_RUNNER_MODELSTATE_H

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
/// name that the program gives it (`of`) and a gradient the name of its
/// parameter. Moments have the prefixes `adam_m.` and `adam_v.`, as in
/// MindSpore, and the average has `pma_weight.`. Files of parameters and
/// gradients hold whole tensors, assembled from the slices of the ranks; each
/// part is taken from the first rank that holds it. A tied parameter is not
/// saved, because it equals the one that it is tied to.
///
/// With several processes, the ranks live in the runners of all of them. Each
/// process reads the tensors that its ranks need. The first one writes files,
/// and all of them must call the functions that save, with the same arguments.
class ModelState {
public:
  explicit ModelState(Runner &runner, ProcessGroup *processes = nullptr);

  /// Sets the initial value of every static. Parameters depend only on their
  /// name and the seed, so that they are the same on any number of ranks, and a
  /// slice equals the part of the whole. Tied parameters are equal. Gradients,
  /// moments and other statics are zero. Fails on a parameter or table that has
  /// no initial value.
  llvm::Error initialize(uint64_t seed);
  /// Applies `change` to the initial values of parameters.
  llvm::Error changeParameters(uint64_t seed,
                               const ranks::TensorChange &change);

  /// Loads all parameters from safetensors files, indices or directories, of
  /// which later ones override earlier ones. Floating-point types are
  /// converted. Fails on a tensor that is missing or of another shape. If some
  /// parameters are not trained, the trained ones may be missing and keep their
  /// values, because the files may be those of the model without adapters.
  /// `notes` lists these, and the tensors of the files that nobody reads.
  llvm::Error loadParameters(llvm::ArrayRef<std::string> paths,
                             std::vector<std::string> &notes);

  /// Collect the parameters, and the gradients as they are in memory. They are
  /// read from the runner when they are used.
  llvm::Expected<ranks::WholeTensors> collectParameters() const;
  /// Collects the parameters that have moments.
  llvm::Expected<ranks::WholeTensors> collectTrained() const;
  llvm::Expected<ranks::WholeTensors> collectGradients() const;

  /// Saves the parameters and moments of one rank, as slices, in the form of a
  /// checkpoint.
  llvm::Error saveRank(int64_t rank, llvm::StringRef path) const;

  /// Loads the files of all ranks of a checkpoint, which may have another
  /// layout: each rank reads its slices from the files that hold them. Fails on
  /// a tensor of another type or whole shape, or if the files do not hold all
  /// of it.
  llvm::Error loadRanks(llvm::ArrayRef<std::string> paths);

private:
  /// Collects the statics to which `getName` gives a name.
  llvm::Expected<ranks::WholeTensors> collect(
      llvm::function_ref<std::string(const program::Static &)> getName) const;

  /// Returns the ranks whose tensors are saved.
  std::vector<int64_t> getSavedRanks() const;

  Runner &runner;
  ProcessGroup *processes;
  ranks::StateNames names;
};

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_MODELSTATE_H

//===- KernelSequence.h - Kernels that one launch runs ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A launch may run several kernels one after another, which hand their results
// on in its workspace. FLOPs, bytes, time and bits are those of the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_KERNELSEQUENCE_H
#define MF_PROGRAM_SIGNATURES_KERNELSEQUENCE_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Where an operand of a kernel of a sequence lies.
struct SequencePlace {
  enum class Memory : uint8_t {
    /// The first input of the launch.
    Input,
    /// The first output.
    Output,
    Workspace
  };
  Memory memory = Memory::Workspace;
  /// The begin in the workspace.
  int64_t offset = 0;
};

struct SequencedKernel {
  KernelSpec spec;
  llvm::SmallVector<SequencePlace, 2> inputs;
  SequencePlace output;
  /// The begin of the kernel's own workspace in that of the launch.
  int64_t workspaceOffset = 0;
};

/// Returns the kernels of a launch of mfNewtonSchulz, or none if their bytes
/// cannot be counted. Dimensions that the matrices lack count as 1.
std::vector<SequencedKernel> getNewtonSchulzSequence(const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELSEQUENCE_H

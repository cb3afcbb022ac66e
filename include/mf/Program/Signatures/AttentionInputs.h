//===- AttentionInputs.h - Optional inputs of attention ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Attention kernels have up to three optional inputs after the required ones,
// in this order: ALiBi slopes (floating point), a dropout mask (i1) and the
// first key that each query sees (i32). Each may be absent, so an input is
// identified by its element type.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_ATTENTIONINPUTS_H
#define MF_PROGRAM_SIGNATURES_ATTENTIONINPUTS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include <optional>

namespace mf {

/// The indices of the optional inputs that an attention kernel has.
struct AttentionInputs {
  std::optional<size_t> slopes, dropMask, starts;
  /// The index of the first input that is none of the three.
  size_t end = 0;
};

/// Finds the optional inputs of `spec` from input `first` on.
AttentionInputs findAttentionInputs(const KernelSpec &spec, size_t first);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_ATTENTIONINPUTS_H

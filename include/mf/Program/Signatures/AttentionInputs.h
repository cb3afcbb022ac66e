//===- AttentionInputs.h - Optional inputs of attention ---------*- C++ -*-===//
//
// Kernels of attention take up to three optional inputs behind the required
// ones, in this order: slopes of ALiBi (floating point), a mask of dropout (i1)
// and the first key that each query sees (i32). Each may be missing, so its
// type tells which one it is.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_ATTENTIONINPUTS_H
#define MF_SIGNATURES_ATTENTIONINPUTS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include <optional>

namespace mf {

/// The numbers of the optional inputs that a kernel of attention has.
struct AttentionInputs {
  std::optional<size_t> slopes, dropMask, starts;
  /// The inputs from `end` on belong to none of the three.
  size_t end = 0;
};

/// Finds the optional inputs of `spec` from input `first` on.
AttentionInputs findAttentionInputs(const KernelSpec &spec, size_t first);

} // namespace mf

#endif // MF_SIGNATURES_ATTENTIONINPUTS_H

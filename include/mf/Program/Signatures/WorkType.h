//===- WorkType.h - The element type of a kernel's work ---------*- C++ -*-===//

#ifndef MF_SIGNATURES_WORKTYPE_H
#define MF_SIGNATURES_WORKTYPE_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// The element type of the largest input, or of the largest output of a kernel
/// that reads nothing; the first of them if several are largest. The type in
/// which products are summed does not count. F32 without any operands.
DType getWorkType(const KernelSpec &spec);

} // namespace mf

#endif // MF_SIGNATURES_WORKTYPE_H

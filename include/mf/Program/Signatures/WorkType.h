//===- WorkType.h - The element type of a kernel's work ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_SIGNATURES_WORKTYPE_H
#define MF_PROGRAM_SIGNATURES_WORKTYPE_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf {

/// Returns the element type of the largest input, or of the largest output for
/// a kernel without inputs. The first one counts if several are largest. The
/// type in which products are summed does not matter. F32 if there are no
/// operands.
DType getWorkType(const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_WORKTYPE_H

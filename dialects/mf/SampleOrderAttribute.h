//===- SampleOrderAttribute.h - The attribute of sample order ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_SAMPLEORDERATTRIBUTE_H
#define MF_DIALECTS_MF_SAMPLEORDERATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace mf::ir {

/// The attribute of a module with a mesh that names a mf::SampleOrder. Without
/// it all ranks read the whole batch.
inline constexpr llvm::StringLiteral sampleOrderAttribute = "mf.sample_order";

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SAMPLEORDERATTRIBUTE_H

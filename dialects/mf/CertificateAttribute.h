//===- CertificateAttribute.h - The certificate of a chunk ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H
#define MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace mf::ir {

/// The name of the attribute with the certificate of a chunk, and later of its
/// forward function. It is a dictionary in the form that
/// lib/Decode/Certificates.cpp reads (mf/Program/Certificate.h).
inline constexpr llvm::StringLiteral certificateAttribute = "mf.computes";

} // namespace mf::ir

#endif // MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H

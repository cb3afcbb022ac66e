//===- CertificateAttribute.h - The certificate of a chunk ------*- C++ -*-===//

#ifndef MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H
#define MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace mf::ir {

/// The attribute of chunks, and then of their forward functions, that says what
/// they have to compute: a dictionary as lib/Program/Decode/Certificates.cpp
/// reads it (mf/Program/Certificate.h).
inline constexpr llvm::StringLiteral certificateAttribute = "mf.computes";

} // namespace mf::ir

#endif // MF_DIALECTS_MF_CERTIFICATEATTRIBUTE_H

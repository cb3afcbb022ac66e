//===- ChunkCertificate.h - The certificate of a frame layout --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_CHUNKCERTIFICATE_H
#define MF_PASSES_LOWER_CHUNKCERTIFICATE_H

#include "passes/schedule/ModelChunks.h"

namespace mf::passes {

/// Returns the certificate of a chunk (mf/Program/Certificate.h) with the
/// values that the first arguments of its routines hold; null if it has none.
mlir::DictionaryAttr getCertificate(const ChunkFunctions &chunk);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_CHUNKCERTIFICATE_H

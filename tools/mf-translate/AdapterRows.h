//===- AdapterRows.h - Tensors of adapters with reordered rows -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_ADAPTERROWS_H
#define MF_TOOLS_MF_TRANSLATE_ADAPTERROWS_H

#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

/// Returns tensor `name` with the shape and type of `shape`. The file's type
/// may differ.
llvm::Expected<std::vector<uint8_t>> readAs(const SafetensorsCheckpoint &source,
                                            llvm::StringRef name,
                                            const TensorShape &shape);

/// Returns tensor `name` with its rows reordered from the order of `from` to
/// that of `to`, which are names of the layer's weight.
llvm::Expected<std::vector<uint8_t>>
readRows(const SafetensorsCheckpoint &source, llvm::StringRef name,
         const TensorShape &shape, llvm::StringRef from, llvm::StringRef to,
         const ParameterLayout &layout);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_ADAPTERROWS_H

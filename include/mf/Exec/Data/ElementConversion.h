//===- ElementConversion.h - Between f32, bf16 and f16 --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Conversions of whole buffers, for parameters whose type in a file differs
// from their type in the program. Values are rounded to nearest, ties to even,
// as by IEEE 754 and MindSpore's Cast. NaNs stay NaNs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_ELEMENTCONVERSION_H
#define MF_EXEC_DATA_ELEMENTCONVERSION_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace mf {

/// Returns whether `type` is a floating-point type.
bool isFloatType(DType type);

float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);

/// Fills `to` (elements of `toType`) with the elements of `from`. Equal types
/// are copied, and floating-point types are converted to each other. Fails for
/// other types, and if the buffers do not hold the same whole number of
/// elements. The buffers need not be aligned and must not overlap.
llvm::Error convertElements(DType fromType, llvm::ArrayRef<uint8_t> from,
                            DType toType, llvm::MutableArrayRef<uint8_t> to);

} // namespace mf

#endif // MF_EXEC_DATA_ELEMENTCONVERSION_H

//===- ElementConversion.h - Between f32, bf16 and f16 --------*- C++ -*-===//
//
// Conversions of whole buffers, for parameters whose type in a file is not
// the one the program holds them in. Rounding is to nearest, ties to even, as
// IEEE 754 and MindSpore's Cast do; NaNs stay NaNs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_ELEMENTCONVERSION_H
#define MF_DATA_ELEMENTCONVERSION_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace mf {

/// Whether values of `type` are floating point.
bool isFloatType(DType type);

float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);

/// Fills `to` (elements of `toType`) with the elements of `from`, element by
/// element. Equal types are copied; the floating point types convert among
/// each other; anything else is an error, and so are buffers that do not hold
/// the same whole number of elements. Neither buffer needs to be aligned; they
/// must not overlap.
llvm::Error convertElements(DType fromType, llvm::ArrayRef<uint8_t> from,
                            DType toType, llvm::MutableArrayRef<uint8_t> to);

} // namespace mf

#endif // MF_DATA_ELEMENTCONVERSION_H

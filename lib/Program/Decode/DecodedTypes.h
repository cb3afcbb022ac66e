//===- DecodedTypes.h - Types and sizes in a program -----------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_DECODE_DECODEDTYPES_H
#define MF_LIB_PROGRAM_DECODE_DECODEDTYPES_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/Attributes.h"
#include "mf/Program/Certificate.h"

namespace mf::program {

/// Bytes of any single buffer, arena or host memory stay below this, so that
/// sums of a few of them cannot overflow.
constexpr int64_t maximumBytes = int64_t{1} << 56;

/// The contents of a buffer type.
struct BufferShape {
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
};

/// Reports at `op` an element type no kernel computes with, and a size beyond
/// `maximumBytes`.
mlir::FailureOr<BufferShape> decodeType(mlir::Operation *op, mlir::Type type);

/// `value`, and `factor` and `window` or neither.
mlir::FailureOr<LossScale> decodeLossScale(mlir::Operation *op,
                                           mlir::DictionaryAttr attribute);

/// The certificate of a chunk: results as lists of [name, term].
mlir::FailureOr<Certificate> decodeCertificate(mlir::Operation *op,
                                               mlir::DictionaryAttr attribute);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DECODE_DECODEDTYPES_H

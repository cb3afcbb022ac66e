//===- DecodedTypes.h - Types and sizes in a program -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_DECODE_DECODEDTYPES_H
#define MF_LIB_DECODE_DECODEDTYPES_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Decode/Attributes.h"
#include "mf/Program/Certificate.h"

namespace mf::program {

/// A limit on the bytes of any single buffer, arena or host memory, so that
/// sums of a few of them cannot overflow.
constexpr int64_t maximumBytes = int64_t{1} << 56;

/// The contents of a buffer type.
struct BufferShape {
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
};

/// Decodes a buffer type. Reports an element type that kernels do not support,
/// and a size beyond `maximumBytes`, at `op`.
mlir::FailureOr<BufferShape> decodeType(mlir::Operation *op, mlir::Type type);

/// Decodes a loss scale: `value`, and either both or none of `factor` and
/// `window`.
mlir::FailureOr<LossScale> decodeLossScale(mlir::Operation *op,
                                           mlir::DictionaryAttr attribute);

/// Decodes the certificate of a step.
mlir::FailureOr<StepCertificate>
decodeStepCertificate(mlir::Operation *op, mlir::DictionaryAttr attribute);

/// Decodes the certificate of a chunk, whose results are lists of [name, term].
mlir::FailureOr<Certificate> decodeCertificate(mlir::Operation *op,
                                               mlir::DictionaryAttr attribute);

} // namespace mf::program

#endif // MF_LIB_DECODE_DECODEDTYPES_H

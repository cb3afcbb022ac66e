//===- Attributes.h - Attributes of IR as plain values ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DECODE_ATTRIBUTES_H
#define MF_DECODE_ATTRIBUTES_H

#include "mf/Program/Program.h"
#include "mlir/IR/Operation.h"

namespace mf::program {

/// Decodes the `init` of a static or a parameter, an `#mf.init` attribute.
mlir::FailureOr<InitialValue> decodeInitialValue(mlir::Operation *op,
                                                 mlir::Attribute attribute);

/// Decodes a learning-rate schedule: a string `type` and its parameters.
mlir::FailureOr<LearningRateRule>
decodeLrSchedule(mlir::Operation *op, mlir::DictionaryAttr attribute);

/// Decodes the `trainer_memory` of a program.
mlir::FailureOr<trainer::TrainerPeak>
decodeTrainerMemory(mlir::Operation *op, mlir::DictionaryAttr attribute);

/// Returns the module's mesh, or a mesh of one rank per stage if the module has
/// none. Reports a mesh whose number of stages is not `numStages`.
mlir::FailureOr<Mesh> decodeMesh(mlir::ModuleOp module, int64_t numStages);

/// Sets `order` to the module's mf.sample_order, or to whole batches if the
/// attribute is absent.
mlir::LogicalResult decodeSampleOrder(mlir::ModuleOp module,
                                      SampleOrder &order);

} // namespace mf::program

#endif // MF_DECODE_ATTRIBUTES_H

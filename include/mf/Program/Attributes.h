//===- Attributes.h - Attributes of IR as plain values ---------*- C++ -*-===//

#ifndef MF_PROGRAM_ATTRIBUTES_H
#define MF_PROGRAM_ATTRIBUTES_H

#include "mf/Program/Program.h"
#include "mlir/IR/Operation.h"

namespace mf::program {

/// The `init` of a static or a parameter: an `#mf.init`.
mlir::FailureOr<InitialValue> decodeInitialValue(mlir::Operation *op,
                                                 mlir::Attribute attribute);

/// `type`, a string, and the parameters beside it.
mlir::FailureOr<LearningRateRule>
decodeLrSchedule(mlir::Operation *op, mlir::DictionaryAttr attribute);

/// The module's mesh; without one, a rank for each stage. Reports one that has
/// another number of stages.
mlir::FailureOr<Mesh> decodeMesh(mlir::ModuleOp module, int64_t numStages);

/// mf.sample_order of a module; whole batches without it.
mlir::LogicalResult decodeSampleOrder(mlir::ModuleOp module,
                                      SampleOrder &order);

} // namespace mf::program

#endif // MF_PROGRAM_ATTRIBUTES_H

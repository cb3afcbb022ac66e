//===- MfDialect.h - The mf dialect, its attributes and types --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect itself, its enums, attributes, types and interfaces. Operations
// are in MfOps.h.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_MFDIALECT_H
#define MF_DIALECTS_MF_MFDIALECT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TensorEncoding.h"

#include "dialects/mf/ShardingRule.h"

#include "dialects/mf/MfDialect.h.inc"
#include "dialects/mf/MfEnums.h.inc"

namespace mf {
struct LayerSettings;
} // namespace mf

namespace mf::ir {
/// Parses a floating-point parameter of an attribute.
mlir::FailureOr<llvm::APFloat> parseDouble(mlir::AsmParser &parser);
} // namespace mf::ir

#define GET_ATTRDEF_CLASSES
#include "dialects/mf/MfAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/mf/MfTypes.h.inc"

namespace mf {
enum class Engine : uint8_t;
} // namespace mf

namespace mf::ir {

/// Returns the inherent attributes of `op` without its cell and its marks. This
/// is the default of `ComputeOpInterface::getKernelAttributes`.
mlir::DictionaryAttr getDefaultKernelAttributes(mlir::Operation *op);

/// Returns the launch of `kernel` on the operator's operands and results, or
/// none if kernels do not support their types or the attributes.
std::optional<KernelSpec> getKernelSpec(mlir::Operation *op,
                                        llvm::StringRef kernel,
                                        mlir::DictionaryAttr attributes);

/// The largest prefetch distance in kernels, which is the limit of
/// backward_prefetch. No step has that many kernels.
inline constexpr int64_t maximumSwapDistance = 2147483647;

/// Reports a prefetch distance that is out of range.
mlir::LogicalResult
verifySwapDistance(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                   int64_t distance);

/// Returns the engine in the signature of `kernel`. The name is empty for
/// views, which have no kernel.
Engine getKernelEngine(llvm::StringRef kernel);
int64_t getKernelFlops(mlir::Operation *op, llvm::StringRef kernel,
                       mlir::DictionaryAttr attributes);

/// Returns the bytes of a ranked tensor type of static shape, or of such a
/// tensor in host memory, without padding.
int64_t getTensorBytes(mlir::Type type);

/// Returns the type of a tensor as if no mesh cut it: its shape without a
/// layout.
mlir::RankedTensorType getGlobalType(mlir::Value tensor);

/// Returns the type of a rank's shard, or null if a dimension is not divisible.
mlir::RankedTensorType getLocalType(mlir::Type type, LayoutAttr layout,
                                    const MeshSizes &mesh);

/// Returns true if a ranked tensor type of static shape has at most 2^48 bytes.
/// This is more than any device has, and small enough that sums of sizes do not
/// overflow.
bool hasAddressableSize(mlir::Type type);

/// Returns true if `type` is a tensor of floating-point numbers.
bool isFloatTensor(mlir::Type type);

/// Returns the type of a draw, which holds the seed, the number of the step's
/// update (from 1) and the index of the micro-batch in the step.
mlir::RankedTensorType getDrawType(mlir::MLIRContext *context);

/// Returns the kind of a layer's argument that is not a result of another
/// layer: a draw, the labels of a head, or the tokens of any other layer.
InputKind getStepInputKind(LayerKind kind, mlir::Type type);

/// Returns the micro-batch of the step that input `number` of the step inputs
/// `inputs` belongs to. If several inputs of a run are of one kind, each copy
/// of the model has one of them in turn.
int64_t getMicroBatchOfInput(mlir::ArrayAttr inputs, size_t number,
                             int64_t run);

/// Returns true if a layer's result, or a chunk's output, of this type is a
/// loss: a scalar in fp32, which is added to the step's loss and not passed on.
bool isLoss(mlir::Type type);

} // namespace mf::ir

#include "dialects/mf/LaunchEmitter.h"
#include "dialects/mf/Tape.h"

namespace mf::ir {

class ComputeOpInterface;

/// Emits one launch of the operator's kernel.
void emitKernel(ComputeOpInterface op, LaunchEmitter &emitter);

/// Checks that the factors of a GradientReaderOpInterface are scalars in fp32.
mlir::LogicalResult verifyFactors(mlir::Operation *op);

} // namespace mf::ir

#include "dialects/mf/MfInterfaces.h.inc"

namespace mf::ir {

/// Returns the value that owns the memory of `value`: the one that it is a view
/// of, or itself.
mlir::Value getViewedValue(mlir::Value value);

/// Returns whether the operator is marked for recompute in backward.
bool isMarkedForRecompute(ComputeOpInterface op);

/// An operator whose result is its operand in another layout, in the passes in
/// which values have layouts.
template <typename ConcreteType>
class ChangesLayout // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, ChangesLayout> {};

/// A collective that sums the partial results of the preceding operator. It is
/// treated as a part of that operator.
template <typename ConcreteType>
class SumsParts // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, SumsParts> {};

/// An operator whose result is piecewise constant, so that no gradient flows
/// through it.
template <typename ConcreteType>
class PiecewiseConstant // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, PiecewiseConstant> {};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_MFDIALECT_H

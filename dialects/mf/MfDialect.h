//===- MfDialect.h - The mf dialect, its attributes and types --*- C++ -*-===//
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

/// The inherent attributes of `op` without its place in the Cell tree and its
/// marks: what `ComputeOpInterface::getKernelAttributes` answers
/// unless an operator says otherwise.
mlir::DictionaryAttr getDefaultKernelAttributes(mlir::Operation *op);

/// The launch of `kernel` on the operator's operands and results; none if they
/// or the attributes are of types that no kernel has.
std::optional<KernelSpec> getKernelSpec(mlir::Operation *op,
                                        llvm::StringRef kernel,
                                        mlir::DictionaryAttr attributes);

/// The largest prefetch distance, in kernels: what backward_prefetch may be. No
/// step has as many.
inline constexpr int64_t maximumSwapDistance = 2147483647;

/// Reports a prefetch distance that is out of range.
mlir::LogicalResult
verifySwapDistance(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                   int64_t distance);

/// The engine in the signature of `kernel`; views have no kernel, whose name is
/// empty.
Engine getKernelEngine(llvm::StringRef kernel);
int64_t getKernelFlops(mlir::Operation *op, llvm::StringRef kernel,
                       mlir::DictionaryAttr attributes);

/// Bytes of a ranked tensor type of static shape, or of such a tensor in host
/// memory, without padding.
int64_t getTensorBytes(mlir::Type type);

/// The type of a tensor as if no mesh cut it: its shape without a layout.
mlir::RankedTensorType getGlobalType(mlir::Value tensor);

/// The type of a rank's part; null if a dimension does not divide.
mlir::RankedTensorType getLocalType(mlir::Type type, LayoutAttr layout,
                                    const MeshSizes &mesh);

/// True if a ranked tensor type of static shape has at most 2^48 bytes: more
/// than any device has, and few enough that sums of sizes do not overflow.
bool hasAddressableSize(mlir::Type type);

/// True if `type` is a tensor of floating-point numbers.
bool isFloatTensor(mlir::Type type);

/// The type of a draw: the seed, the number of the step's update, counted from
/// 1, and that of the micro-batch in the step.
mlir::RankedTensorType getDrawType(mlir::MLIRContext *context);

/// The kind of a layer's argument that no other layer gives: a draw, or the
/// labels of a head, the tokens of another layer.
InputKind getStepInputKind(LayerKind kind, mlir::Type type);

/// Among the step inputs `inputs` of a run, returns which of the step's
/// micro-batches input `number` is: if several are of one kind, each copy of
/// the model has one in turn.
int64_t getMicroBatchOfInput(mlir::ArrayAttr inputs, size_t number,
                             int64_t run);

/// True if a layer's result, or a chunk's output, of this type is a loss: a
/// scalar in fp32, which is added to the step's loss and handed to nobody.
bool isLoss(mlir::Type type);

} // namespace mf::ir

#include "dialects/mf/LaunchEmitter.h"

namespace mf::ir {

class ComputeOpInterface;

/// Emits one launch of the operator's kernel.
void emitKernel(ComputeOpInterface op, LaunchEmitter &emitter);

/// Checks that the factors of a GradientReaderOpInterface are scalars in fp32.
mlir::LogicalResult verifyFactors(mlir::Operation *op);

} // namespace mf::ir

#include "dialects/mf/MfInterfaces.h.inc"

namespace mf::ir {

/// The value whose memory `value` has: the one that it is a view of, or itself.
mlir::Value getViewedValue(mlir::Value value);

/// Whether the operator's mark says that backward runs it again.
bool isMarkedForRecompute(ComputeOpInterface op);

/// While values have a layout, the result is the operand in another one.
template <typename ConcreteType>
class ChangesLayout // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, ChangesLayout> {};

/// Adds up partial results of an operator: belongs to the operator before it.
template <typename ConcreteType>
class SumsParts // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, SumsParts> {};

/// Changes in steps: no gradient flows through it.
template <typename ConcreteType>
class PiecewiseConstant // NOLINT(bugprone-crtp-constructor-accessibility)
    : public mlir::OpTrait::TraitBase<ConcreteType, PiecewiseConstant> {};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_MFDIALECT_H

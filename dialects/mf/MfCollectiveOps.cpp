//===- MfCollectiveOps.cpp - Collective operators -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using mf::CollectiveKind;
using mf::Engine;
using namespace mf::ir;

/// Returns the number of stages of a module without a mesh: of its settings, or
/// else of its chunks.
static int64_t countStages(Operation *op) {
  auto model = dyn_cast<ModelOp>(op);
  if (!model)
    model = op->getParentOfType<ModelOp>();
  if (!model)
    return 1;
  if (TrainingAttr training = model.getTrainingAttr())
    return training.getParallel().getStages();
  int64_t stages = 1;
  for (auto chunk : model.getBody().getOps<ChunkOp>())
    stages = std::max(stages, chunk.getPlacement().getStage() + 1);
  return stages;
}

int64_t mf::ir::getGroupSize(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = MeshAttr::find(op);
  if (!mesh) {
    assert(llvm::all_of(axes.getAsRange<StringAttr>(),
                        [](StringAttr axis) { return axis == "pp"; }) &&
           "without a mesh, the stages are the only axis");
    return axes.empty() ? 1 : countStages(op);
  }
  int64_t size = 1;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    assert(llvm::is_contained(mesh.getAxes(), axis) &&
           "the mesh has no such axis");
    size *= mesh.getSize(axis.getValue());
  }
  return size;
}

/// Returns the size of the group that an operator's shapes must fit; none if
/// the module has no mesh, because models that are written by hand need not say
/// their number of stages.
static std::optional<int64_t> findGroupSize(Operation *op, ArrayAttr axes) {
  if (!MeshAttr::find(op))
    return std::nullopt;
  return getGroupSize(op, axes);
}

/// Checks the axes. Without a mesh, the stages are the only axis.
LogicalResult mf::ir::verifyAxes(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = MeshAttr::find(op);
  for (auto [index, axis] : llvm::enumerate(axes.getAsRange<StringAttr>())) {
    if (llvm::is_contained(axes.getValue().take_front(index), axis))
      return op->emitOpError("expected each axis once, but got ")
             << axis << " twice";
    if (mesh && !llvm::is_contained(mesh.getAxes(), axis))
      return op->emitOpError("expected axes of ")
             << mesh << ", but got " << axis;
    if (!mesh && axis.getValue() != "pp")
      return op->emitOpError("is over axis ")
             << axis
             << ", but the module has no mesh; give it one, as in mf.mesh = "
                "#mf.mesh<pp = 1, "
             << axis.getValue() << " = 2>";
  }
  return success();
}

LogicalResult mf::ir::verifyGroup(Operation *op, ArrayAttr axes) {
  if (failed(verifyAxes(op, axes)))
    return failure();
  MeshAttr mesh = MeshAttr::find(op);
  Axes names;
  for (auto axis : axes.getAsRange<StringAttr>())
    names.push_back(axis.getValue());
  if (!mesh || MeshSizes(mesh).isInOrder(names))
    return success();
  return op->emitOpError("expected axes in the order of ")
         << mesh << ", but got " << axes;
}

LogicalResult mf::ir::verifyPosition(Operation *op, Value position) {
  auto type = cast<RankedTensorType>(position.getType());
  if (type.getRank() == 1 &&
      (LayoutAttr::find(type) || type.getDimSize(0) == 1))
    return success();
  return op->emitOpError("expected one number, a tensor<1xi32>, as position of "
                         "the rank's part, but got ")
         << type;
}

void mf::ir::setAxes(EmittedCollective &collective, ArrayAttr axes) {
  for (auto axis : axes.getAsRange<StringAttr>())
    collective.axes.push_back(axis.getValue());
  collective.channel = llvm::join(collective.axes, ".");
}

namespace {

bool isBetweenLayouts(Type type, Type other) {
  return LayoutAttr::find(type) || LayoutAttr::find(other);
}

/// Checks that dimension `dim` of `longer` is that of `shorter` times the
/// number of ranks in the group, or that both types are whole and have a
/// layout.
LogicalResult verifyParts(Operation *op, ArrayAttr axes, int64_t dim,
                          Type longer, Type shorter) {
  auto whole = cast<RankedTensorType>(longer);
  auto part = cast<RankedTensorType>(shorter);
  std::optional<int64_t> size = findGroupSize(op, axes);
  if (dim < 0 || dim >= std::max<int64_t>(whole.getRank(), 1))
    return op->emitOpError("expected a dimension of ")
           << longer << ", but got " << dim;
  if (isBetweenLayouts(longer, shorter))
    return mlir::verifyCompatibleShape(longer, shorter);
  auto others = [&](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    return shape;
  };
  bool fits = whole.getElementType() == part.getElementType() &&
              whole.getRank() == part.getRank() && whole.getRank() > 0 &&
              others(whole) == others(part) && part.getDimSize(dim) > 0 &&
              whole.getDimSize(dim) % part.getDimSize(dim) == 0;
  if (fits && (!size || whole.getDimSize(dim) == *size * part.getDimSize(dim)))
    return success();
  InFlightDiagnostic error = op->emitOpError("expected ");
  if (size)
    error << *size << " equal parts";
  else
    error << "equal parts";
  return error << " along dimension " << dim << ", but got " << longer
               << " and " << shorter;
}

} // namespace

//===----------------------------------------------------------------------===//
// Emission
//
// A collective splits or concatenates contiguous parts; HCCL's have no strides.
// Along a dimension other than the first, the parts of a tensor are many short
// runs, which a kernel makes contiguous: before a collective that splits its
// input, and after one that concatenates its output. This costs one copy on one
// side, in a buffer of that side's size that lives no longer than the operator.
// To permute the other side as well, in order to keep the layout in between,
// would cost a second copy of it. If all leading dimensions are 1, as for a
// micro-batch of one row, the parts are contiguous already.
//===----------------------------------------------------------------------===//

namespace {

/// A tensor viewed as [before, parts, part, after] along one dimension.
struct PartShape {
  PartShape(Type type, int64_t dim, int64_t parts) : parts(parts) {
    auto tensor = cast<RankedTensorType>(type);
    element = tensor.getElementType();
    for (auto [index, extent] : llvm::enumerate(tensor.getShape()))
      (static_cast<int64_t>(index) < dim ? before : part) *= extent;
    part /= parts;
  }

  bool isContiguous() const { return before == 1 || parts == 1; }
  RankedTensorType getType() const {
    return RankedTensorType::get({before, parts, part}, element);
  }
  /// Returns the type with contiguous parts.
  RankedTensorType getPartsType() const {
    return RankedTensorType::get({parts, before, part}, element);
  }

  Type element;
  int64_t before = 1, parts, part = 1;
};

/// Swaps the first two of three dimensions.
void swapFirst(LaunchEmitter &emitter, MLIRContext *context, EmittedBuffer from,
               EmittedBuffer to) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set("perm", builder.getDenseI64ArrayAttr({1, 0, 2}));
  emitter.launch("aclnnPermute", from, to, attributes.getDictionary(context));
}

} // namespace

EmittedBuffer mf::ir::emitParts(LaunchEmitter &emitter, EmittedBuffer tensor,
                                RankedTensorType type, int64_t dim,
                                int64_t parts) {
  const PartShape shape(type, dim, parts);
  if (shape.isContiguous())
    return tensor;
  EmittedBuffer copy = emitter.createTemporary(shape.getPartsType());
  swapFirst(emitter, type.getContext(),
            emitter.getPart(tensor, 0, shape.getType()), copy);
  return copy;
}

void mf::ir::emitConcatenation(LaunchEmitter &emitter,
                               EmittedCollective collective,
                               RankedTensorType type, int64_t dim,
                               int64_t parts) {
  const PartShape shape(type, dim, parts);
  if (shape.isContiguous())
    return emitter.communicate(collective);
  EmittedBuffer whole = collective.output;
  collective.output = emitter.createTemporary(shape.getPartsType());
  emitter.communicate(collective);
  swapFirst(emitter, type.getContext(), collective.output,
            emitter.getPart(whole, 0, shape.getType()));
}

/// The index of the part is a value in the rank's memory, because all ranks run
/// one program.
void mf::ir::emitOwnPart(LaunchEmitter &emitter, EmittedBuffer tensor,
                         RankedTensorType type, int64_t dim, int64_t parts,
                         ArrayAttr axes, EmittedBuffer part) {
  const PartShape shape(type, dim, parts);
  auto partType =
      RankedTensorType::get({shape.before, shape.part}, shape.element);
  emitter.launch("mfOwnPart",
                 {emitter.getPart(tensor, 0, shape.getType()),
                  emitter.getCoordinate(axes)},
                 emitter.getPart(part, 0, partType));
}

namespace {

/// Emits one collective with the permutations before and after it.
class CollectiveEmitter {
public:
  CollectiveEmitter(LaunchEmitter &emitter, Operation *op, ArrayAttr axes)
      : emitter(emitter), op(op), axes(axes) {}

  /// Emits the collective. The input is split along `splitDim`, and the output
  /// is concatenated along `concatDim`, if they are given.
  void emit(CollectiveKind kind, std::optional<int64_t> splitDim,
            std::optional<int64_t> concatDim) {
    Value input = op->getOperand(0), result = op->getResult(0);
    EmittedCollective collective;
    collective.kind = kind;
    setAxes(collective, axes);
    collective.input = emitter.getBuffer(input);
    const int64_t parts = getGroupSize(op, axes);
    if (splitDim)
      collective.input =
          emitParts(emitter, collective.input,
                    cast<RankedTensorType>(input.getType()), *splitDim, parts);
    collective.output = emitter.createBuffer(result);
    if (!concatDim)
      emitter.communicate(collective);
    else
      emitConcatenation(emitter, collective,
                        cast<RankedTensorType>(result.getType()), *concatDim,
                        parts);
  }

private:
  LaunchEmitter &emitter;
  Operation *op;
  ArrayAttr axes;
};

} // namespace

//===----------------------------------------------------------------------===//
// AllReduceOp and MirrorOp
//===----------------------------------------------------------------------===//

/// Casts the value to fp32.
static Value widen(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return builder.createOrFold<CastOp>(value.getLoc(),
                                      type.clone(builder.getF32Type()), value,
                                      nullptr, nullptr, nullptr);
}

bool AllReduceOp::isView() { return false; }
bool MirrorOp::isView() { return true; }
Engine AllReduceOp::getEngine() { return Engine::Communication; }
Engine MirrorOp::getEngine() { return Engine::Vector; }

LogicalResult AllReduceOp::verify() { return verifyGroup(*this, getAxes()); }
LogicalResult MirrorOp::verify() { return verifyGroup(*this, getAxes()); }

void AllReduceOp::emitInstructions(LaunchEmitter &emitter) {
  CollectiveEmitter(emitter, *this, getAxes())
      .emit(CollectiveKind::AllReduce, std::nullopt, std::nullopt);
}
void MirrorOp::emitInstructions(LaunchEmitter &emitter) {}

void AllReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients[0];
}
void MirrorOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients[0];
  if (getWideGradient())
    gradient = widen(builder, gradient);
  operandGradients[0] = AllReduceOp::create(
      builder, getLoc(), gradient.getType(), gradient, getAxes());
  CollectiveUnit::copy(*this, operandGradients[0].getDefiningOp());
}

//===----------------------------------------------------------------------===//
// AllGatherOp, ReduceScatterOp and OwnPartOp
//===----------------------------------------------------------------------===//

bool AllGatherOp::isView() { return false; }
bool ReduceScatterOp::isView() { return false; }
bool OwnPartOp::isView() { return false; }
Engine AllGatherOp::getEngine() { return Engine::Communication; }
Engine ReduceScatterOp::getEngine() { return Engine::Communication; }
Engine OwnPartOp::getEngine() { return Engine::Vector; }

LogicalResult AllGatherOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), static_cast<int64_t>(getDim()),
                     getType(), getInput().getType());
}
LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), static_cast<int64_t>(getDim()),
                     getInput().getType(), getType());
}
LogicalResult OwnPartOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  return verifyParts(*this, getAxes(), static_cast<int64_t>(getDim()),
                     getInput().getType(), getType());
}

void AllGatherOp::emitInstructions(LaunchEmitter &emitter) {
  CollectiveEmitter(emitter, *this, getAxes())
      .emit(CollectiveKind::AllGather, std::nullopt, getDim());
}
void ReduceScatterOp::emitInstructions(LaunchEmitter &emitter) {
  CollectiveEmitter(emitter, *this, getAxes())
      .emit(CollectiveKind::ReduceScatter, getDim(), std::nullopt);
}
void OwnPartOp::emitInstructions(LaunchEmitter &emitter) {
  EmittedBuffer input = emitter.getBuffer(getInput());
  emitOwnPart(emitter, input, cast<RankedTensorType>(getInput().getType()),
              static_cast<int64_t>(getDim()), getGroupSize(*this, getAxes()),
              getAxes(), emitter.createBuffer(getResult()));
}

void AllGatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  Value gradient = resultGradients[0];
  if (getWideGradient())
    gradient = widen(builder, gradient);
  Type type = cast<RankedTensorType>(getInput().getType())
                  .clone(getElementTypeOrSelf(gradient.getType()));
  if (getReplicated())
    operandGradients[0] =
        OwnPartOp::create(builder, getLoc(), type, gradient, getAxes(),
                          static_cast<int64_t>(getDim()));
  else
    operandGradients[0] =
        ReduceScatterOp::create(builder, getLoc(), type, gradient, getAxes(),
                                static_cast<int64_t>(getDim()));
  CollectiveUnit::copy(*this, operandGradients[0].getDefiningOp());
}
void ReduceScatterOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllGatherOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      static_cast<int64_t>(getDim()), /*replicated=*/false);
}
void OwnPartOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllGatherOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      static_cast<int64_t>(getDim()), /*replicated=*/true);
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

bool AllToAllOp::isView() { return false; }
Engine AllToAllOp::getEngine() { return Engine::Communication; }

void AllToAllOp::emitInstructions(LaunchEmitter &emitter) {
  CollectiveEmitter(emitter, *this, getAxes())
      .emit(CollectiveKind::AllToAll, getSplit(), getConcat());
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  auto input = cast<RankedTensorType>(getInput().getType());
  int64_t rank = input.getRank();
  int64_t split = static_cast<int64_t>(getSplit()),
          concat = static_cast<int64_t>(getConcat());
  if (split < 0 || split >= rank || concat < 0 || concat >= rank ||
      split == concat)
    return emitOpError("expected two different dimensions of ")
           << input << ", but got " << split << " and " << concat;
  if (isBetweenLayouts(input, getType()))
    return mlir::verifyCompatibleShape(input, getType());
  // The intermediate value is cut along `split` and not yet concatenated.
  std::optional<int64_t> size = findGroupSize(*this, getAxes());
  SmallVector<int64_t> shape(input.getShape());
  if (size && shape[split] % *size == 0) {
    shape[split] /= *size;
    shape[concat] *= *size;
    if (getType() == RankedTensorType::get(shape, input.getElementType()))
      return success();
  }
  return emitOpError("expected dimension ")
         << split << " to become " << size.value_or(1)
         << " times smaller and dimension " << concat
         << " as many times larger, but got " << input << " and " << getType();
}

void AllToAllOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = AllToAllOp::create(
      builder, getLoc(), getInput().getType(), resultGradients[0], getAxes(),
      static_cast<int64_t>(getConcat()), static_cast<int64_t>(getSplit()));
}

//===----------------------------------------------------------------------===//
// ReshardOp
//===----------------------------------------------------------------------===//

LogicalResult ReshardOp::verify() {
  if (LayoutAttr::find(getInput().getType()) && LayoutAttr::find(getType()))
    return success();
  return emitOpError("expected tensors with a layout, but got ")
         << getInput().getType() << " and " << getType();
}

//===----------------------------------------------------------------------===//
// KeepPartOp
//===----------------------------------------------------------------------===//

/// Before mf-localize the type is that of the whole tensor.
LogicalResult KeepPartOp::verify() {
  if (failed(verifyGroup(*this, getAxes())))
    return failure();
  const int64_t size = getGroupSize(*this, getAxes());
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() > 0 && type.getDimSize(0) % size == 0)
    return success();
  return emitOpError("expected a first dimension of ")
         << size << " equal parts, but got " << type;
}

void KeepPartOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = resultGradients[0];
}

Type KeepPartOp::getSavedType() {
  auto type = cast<RankedTensorType>(getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= getGroupSize(*this, getAxes());
  return type.clone(shape);
}

Value KeepPartOp::save(OpBuilder &builder) {
  auto part = OwnPartOp::create(builder, getLoc(), getSavedType(), getInput(),
                                getAxes(), /*dim=*/0);
  part.setCellName(getCellName());
  return part;
}

Value KeepPartOp::restore(OpBuilder &builder, Value saved) {
  auto whole = AllGatherOp::create(builder, getLoc(), getType(), saved,
                                   getAxes(), /*dim=*/0, /*replicated=*/true);
  whole.setCellName(getCellName());
  return whole;
}

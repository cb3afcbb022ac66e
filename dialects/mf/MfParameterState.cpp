//===- MfParameterState.cpp - Layouts of parameters and gradients ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static RankedTensorType getPart(ParamOp param, LayoutAttr layout) {
  RankedTensorType type = param.getTensorType();
  if (!layout)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, axes] :
       llvm::zip(shape, layout.getCuts().getAsRange<ArrayAttr>()))
    extent /= getGroupSize(param, axes);
  return type.clone(shape);
}

RankedTensorType ParamOp::getLocalType() {
  return getPart(*this, getLayoutAttr());
}

RankedTensorType ParamOp::getStoredType() {
  return getPart(*this, getStoredLayout());
}

RankedTensorType ParamOp::getReadType() {
  if (std::optional<Type> gathered = getGathered())
    return cast<RankedTensorType>(*gathered);
  return getStoredType();
}

RankedTensorType ParamOp::getAccumulatedType() {
  return getPart(*this, getAccumulatedLayout());
}

SmallVector<int64_t> mf::ir::getStateDims(ParamOp param, State state) {
  const int64_t rank = param.getTensorType().getRank();
  int64_t left = rank;
  if (state == State::SquareRows || state == State::InstabilityRows)
    left = rank - 1;
  if (state == State::SquareColumns || state == State::InstabilityColumns)
    left = rank - 2;
  return llvm::to_vector(llvm::make_filter_range(
      llvm::seq<int64_t>(0, rank), [&](int64_t dim) { return dim != left; }));
}

RankedTensorType mf::ir::getStateType(ParamOp param, State state) {
  RankedTensorType stored = param.getStoredType();
  SmallVector<int64_t> dims = getStateDims(param, state);
  const bool isFactor = dims.size() < static_cast<size_t>(stored.getRank());
  switch (state) {
  case State::Parameter:
  case State::Gradient:
    return stored;
  case State::Accumulated:
    return param.getAccumulatedType();
  case State::Gathered:
    return param.getReadType();
  default:
    break;
  }
  if (isFactor && stored.getRank() < 2)
    return {};
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(stored.getDimSize(dim));
  // The states of Came have the type of the parameter, all others are in fp32.
  auto model = param->getParentOfType<ModelOp>();
  TrainingAttr training = model ? model.getTrainingAttr() : TrainingAttr();
  const bool isWide = !training || !training.getOptimizer().getCame();
  Type element =
      isWide ? Float32Type::get(param.getContext()) : stored.getElementType();
  return RankedTensorType::get(shape, element);
}

//===----------------------------------------------------------------------===//
// Storage in parts
//===----------------------------------------------------------------------===//

static ArrayRef<Attribute> getAxes(LayoutAttr layout, unsigned dim) {
  return cast<ArrayAttr>(layout.getCuts()[dim]).getValue();
}

ArrayRef<Attribute> ParamOp::getStorageAxes() {
  if (!getStored())
    return {};
  const auto dim = static_cast<unsigned>(getStorageDim());
  ArrayRef<Attribute> stored = getAxes(getStoredAttr(), dim);
  LayoutAttr layout = getLayoutAttr();
  return layout ? stored.drop_front(getAxes(layout, dim).size()) : stored;
}

static ArrayRef<Attribute> getReduced(ParamOp param) {
  LayoutAttr layout = param.getLayoutAttr();
  return layout ? layout.getReduced().getValue() : ArrayRef<Attribute>();
}

GradientReduction ParamOp::getReduction() {
  ArrayRef<Attribute> storage = getStorageAxes();
  ArrayRef<Attribute> reduced = getReduced(*this);
  ArrayRef<Attribute> scatter = storage.take_while(
      [&](Attribute axis) { return llvm::is_contained(reduced, axis); });
  SmallVector<Attribute> sum;
  for (Attribute axis : reduced)
    if (!llvm::is_contained(scatter, axis))
      sum.push_back(axis);
  // The ranks of a group are in the order of the mesh.
  MeshSizes mesh(MeshAttr::find(*this));
  auto getPlace = [&](Attribute axis) {
    return llvm::find_if(mesh.axes, [&](const auto &entry) {
      return entry.first == cast<StringAttr>(axis).getValue();
    });
  };
  llvm::sort(
      sum, [&](Attribute a, Attribute b) { return getPlace(a) < getPlace(b); });
  Builder builder(getContext());
  return {builder.getArrayAttr(scatter),
          builder.getArrayAttr(storage.drop_front(scatter.size())),
          builder.getArrayAttr(sum)};
}

/// Returns whether the dimension of storage of `stored` is that of `layout`,
/// cut further.
static bool cutsFurther(ParamOp param) {
  LayoutAttr stored = param.getStoredAttr(), layout = param.getLayoutAttr();
  const uint64_t storageDim = param.getStorageDim();
  if (param.getTensorType().getRank() <= static_cast<int64_t>(storageDim))
    return false;
  for (unsigned dim = 0; dim < stored.getCuts().size(); ++dim) {
    ArrayRef<Attribute> before =
        layout ? getAxes(layout, dim) : ArrayRef<Attribute>();
    ArrayRef<Attribute> after = getAxes(stored, dim);
    bool mayBeLonger = dim == storageDim && after.size() > before.size();
    if (after.take_front(before.size()) != before ||
        (after.size() != before.size() && !mayBeLonger))
      return false;
  }
  return !param.getStorageAxes().empty();
}

/// Checks that `gathered` is the whole of a rank's part, in a type of its own.
/// For a parameter that is not stored in shards it is a converted copy.
static LogicalResult verifyGathered(ParamOp param) {
  std::optional<Type> gathered = param.getGathered();
  if (!gathered)
    return success();
  auto type = dyn_cast<RankedTensorType>(*gathered);
  if (!type || !isa<FloatType>(type.getElementType()) ||
      type != param.getLocalType().clone(type.getElementType()))
    return param.emitOpError("is gathered as ")
           << *gathered << ", but its part is " << param.getLocalType();
  if (!param.getStored() && type == param.getStoredType())
    return param.emitOpError("is not stored in parts, so expected no "
                             "'gathered' of its own type");
  return success();
}

LogicalResult mf::ir::verifyStorage(ParamOp param) {
  if (const uint64_t dim = param.getStorageDim(); dim > 1)
    return param.emitOpError("expected 0 or 1 as 'storage_dim', but got ")
           << dim;
  if (param.getReducedInBackward() && param.getGathered())
    return param.emitOpError("is gathered once in a step, so its gradient "
                             "cannot be 'reduced_in_backward'");
  if (!param.getStored()) {
    if (param.getScatterGradients())
      return param.emitOpError(
          "is not stored in parts, so expected no 'scatter_gradients'");
    return verifyGathered(param);
  }
  if (!cutsFurther(param))
    return param.emitOpError("is stored as ")
           << param.getStoredAttr() << ", which does not cut dimension "
           << param.getStorageDim() << " of its layout further";
  ArrayRef<Attribute> storage = param.getStorageAxes();
  ArrayRef<Attribute> reduced = getReduced(param);
  if (llvm::any_of(param.getReduction().own, [&](Attribute axis) {
        return llvm::is_contained(reduced, axis);
      }))
    return param.emitOpError("expected the axes that it is stored over to be "
                             "first those with summands of its gradient, ")
           << ArrayAttr::get(param.getContext(), reduced) << ", but got "
           << ArrayAttr::get(param.getContext(), storage);
  return verifyGathered(param);
}

void mf::ir::emitGather(LaunchEmitter &emitter, ParamOp param,
                        std::optional<EmittedBuffer> rounded) {
  EmittedCollective collective;
  collective.kind = CollectiveKind::AllGather;
  ArrayAttr axes = ArrayAttr::get(param.getContext(), param.getStorageAxes());
  setAxes(collective, axes);
  collective.input =
      rounded ? *rounded
              : emitter.getState(State::Parameter, param.getSymName());
  collective.output = emitter.getState(State::Gathered, param.getSymName());
  RankedTensorType stored = param.getStoredType();
  Type element = param.getReadType().getElementType();
  if (axes.empty()) {
    emitter.launch("aclnnCast", collective.input, collective.output);
    return;
  }
  if (!rounded && element != stored.getElementType()) {
    EmittedBuffer converted = emitter.createTemporary(stored.clone(element));
    emitter.launch("aclnnCast", collective.input, converted);
    collective.input = converted;
  }
  emitConcatenation(emitter, collective, param.getReadType(),
                    static_cast<int64_t>(param.getStorageDim()),
                    getGroupSize(param, axes));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Returns the part of `type` that a rank of `axes` stores.
static RankedTensorType divideStorage(ParamOp param, RankedTensorType type,
                                      ArrayAttr axes) {
  SmallVector<int64_t> shape(type.getShape());
  shape[param.getStorageDim()] /= getGroupSize(param, axes);
  return type.clone(shape);
}

Value mf::ir::shareOutGradient(OpBuilder &builder, ParamOp param,
                               Value gradient, StringRef name) {
  GradientReduction reduction = param.getReduction();
  auto type = cast<RankedTensorType>(gradient.getType());
  mlir::Location loc = gradient.getLoc();
  const auto dim = static_cast<int64_t>(param.getStorageDim());
  if (!reduction.scatter.empty()) {
    type = divideStorage(param, type, reduction.scatter);
    auto part = ReduceScatterOp::create(builder, loc, type, gradient,
                                        reduction.scatter, dim);
    part.setName(name);
    gradient = part;
  }
  if (!reduction.own.empty()) {
    type = divideStorage(param, type, reduction.own);
    auto part =
        OwnPartOp::create(builder, loc, type, gradient, reduction.own, dim);
    part.setName(name);
    gradient = part;
  }
  return gradient;
}

bool mf::ir::needsReduction(ParamOp param) {
  if (param.getReducedInBackward())
    return false;
  GradientReduction reduction = param.getReduction();
  return !getReduced(param).empty() ||
         (!param.scattersGradients() && !reduction.own.empty());
}

static bool areSame(ArrayAttr axes, ArrayRef<Attribute> others) {
  return axes.size() == others.size() &&
         llvm::all_of(axes, [&](Attribute axis) {
           return llvm::is_contained(others, axis);
         });
}

LogicalResult
ReduceGradientOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param)
    return emitOpError("expected a parameter, but got '") << getParam() << "'";
  if (param.getReducedInBackward()) {
    InFlightDiagnostic error = emitOpError("reduces the gradient of '")
                               << getParam()
                               << "', which backward has reduced already";
    error.attachNote(param.getLoc()) << "parameter is here";
    return error;
  }
  if (areSame(getAxes(), getReduced(param)))
    return success();
  InFlightDiagnostic error = emitOpError("reduces the gradient of '")
                             << getParam() << "' over " << getAxes()
                             << ", but ranks of "
                             << ArrayAttr::get(getContext(), getReduced(param))
                             << " have summands of it";
  error.attachNote(param.getLoc()) << "parameter is here";
  return error;
}

void ReduceGradientOp::emitLaunches(LaunchEmitter &emitter) {
  ParamOp param = emitter.getParam(getParam());
  GradientReduction reduction = param.getReduction();
  EmittedBuffer gradient = emitter.getState(State::Gradient, getParam());
  auto communicate = [&](CollectiveKind kind, ArrayAttr axes,
                         EmittedBuffer input, EmittedBuffer output) {
    EmittedCollective collective;
    collective.kind = kind;
    collective.reduction =
        param.keepsLargest() ? Reduction::Max : Reduction::Sum;
    setAxes(collective, axes);
    collective.input = input;
    collective.output = output;
    emitter.communicate(collective);
  };
  if (param.getStored() && !param.scattersGradients()) {
    EmittedBuffer sum = emitter.getState(State::Accumulated, getParam());
    RankedTensorType type = param.getAccumulatedType();
    const auto dim = static_cast<int64_t>(param.getStorageDim());
    if (!reduction.scatter.empty()) {
      sum = emitParts(emitter, sum, type, dim,
                      getGroupSize(param, reduction.scatter));
      type = divideStorage(param, type, reduction.scatter);
      EmittedBuffer part =
          reduction.own.empty() ? gradient : emitter.createTemporary(type);
      communicate(CollectiveKind::ReduceScatter, reduction.scatter, sum, part);
      sum = part;
    }
    if (!reduction.own.empty())
      emitOwnPart(emitter, sum, type, dim, getGroupSize(param, reduction.own),
                  reduction.own, gradient);
  }
  if (!reduction.sum.empty())
    communicate(CollectiveKind::AllReduce, reduction.sum, gradient, gradient);
  if (!getMean())
    return;
  Builder builder(getContext());
  double factor = 1.0 / static_cast<double>(getGroupSize(param, getAxes()));
  emitter.launch("aclnnMuls", gradient, gradient,
                 builder.getDictionaryAttr(builder.getNamedAttr(
                     "value", builder.getF64FloatAttr(factor))));
}

//===----------------------------------------------------------------------===//
// Reductions in backward
//===----------------------------------------------------------------------===//

static SmallVector<Attribute> dropAxes(ArrayRef<Attribute> axes,
                                       ArrayAttr dropped) {
  return llvm::filter_to_vector(
      axes, [&](Attribute axis) { return !llvm::is_contained(dropped, axis); });
}

/// Returns the elements of `axes` over which `gradient` is not summed. The
/// search follows its producers through linear operators to collectives.
static SmallVector<Attribute> findUnsummed(Value gradient,
                                           ArrayRef<Attribute> axes) {
  Operation *op = gradient.getDefiningOp();
  if (!op || axes.empty())
    return SmallVector<Attribute>(axes);
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return findUnsummed(sum.getInput(), dropAxes(axes, sum.getAxes()));
  if (auto sum = dyn_cast<ReduceScatterOp>(op))
    return findUnsummed(sum.getInput(), dropAxes(axes, sum.getAxes()));
  if (auto part = dyn_cast<OwnPartOp>(op))
    return findUnsummed(part.getInput(), axes);
  const FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule) || !rule->isLinear())
    return SmallVector<Attribute>(axes);
  SmallVector<Attribute> unsummed;
  for (Value operand : op->getOperands())
    for (Attribute axis : findUnsummed(operand, axes))
      if (!llvm::is_contained(unsummed, axis))
        unsummed.push_back(axis);
  return unsummed;
}

LogicalResult mf::ir::verifySummed(Operation *function, ParamOp param,
                                   Value gradient) {
  if (!param.getReducedInBackward())
    return success();
  SmallVector<Attribute> unsummed = findUnsummed(gradient, getReduced(param));
  if (unsummed.empty())
    return success();
  InFlightDiagnostic error =
      function->emitOpError("returns a gradient of '")
      << param.getSymName() << "' that is not summed over "
      << ArrayAttr::get(function->getContext(), unsummed)
      << ", but the parameter is 'reduced_in_backward'; expected readers "
         "behind an mf.mirror or mf.all_gather over these axes";
  error.attachNote(param.getLoc()) << "parameter is here";
  return error;
}

//===----------------------------------------------------------------------===//
// Reductions of an update
//===----------------------------------------------------------------------===//

LogicalResult mf::ir::verifyReductions(ModelOp model) {
  llvm::MapVector<int64_t, SmallVector<ParamOp>> needed;
  mlir::SymbolTable symbols(model);
  for (auto backward : model.getBody().getOps<GradientFunctionOpInterface>())
    for (auto name : backward.getGradients().getAsRange<FlatSymbolRefAttr>())
      if (auto param = symbols.lookup<ParamOp>(name.getValue());
          param && needsReduction(param))
        needed[backward.getPlacement().getStage()].push_back(param);
  for (UpdateOp update : model.getBody().getOps<UpdateOp>()) {
    llvm::StringMap<ReduceGradientOp> reductions;
    for (auto op : update.getBody().getOps<ReduceGradientOp>()) {
      auto [entry, isNew] = reductions.try_emplace(op.getParam(), op);
      if (!isNew)
        return op.emitOpError("reduces the gradient of '")
               << op.getParam() << "' a second time";
    }
    for (ParamOp param : needed[static_cast<int64_t>(update.getStage())])
      if (!reductions.contains(param.getSymName())) {
        InFlightDiagnostic error =
            update.emitOpError("does not reduce the gradient of '")
            << param.getSymName() << "', of which ranks of "
            << ArrayAttr::get(model.getContext(), getReduced(param))
            << " have summands; expected an mf.reduce_gradient";
        error.attachNote(param.getLoc()) << "parameter is here";
        return error;
      }
    bool isFirst = true;
    for (Operation &op : update.getBody().front()) {
      if (isa<ReduceGradientOp>(op) && !isFirst)
        return op.emitOpError("expected all reductions of gradients to be the "
                              "first operators of the update");
      isFirst &= isa<ReduceGradientOp>(op);
    }
  }
  return success();
}

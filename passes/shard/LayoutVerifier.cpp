//===- LayoutVerifier.cpp - Checks layouts against operators --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerifier.h"
#include "ReshardCollective.h"
#include "RuleAxes.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Layout getLayout(Value value) {
  RankedTensorType type = getTensor(value);
  return Layout(LayoutAttr::find(type), type.getRank());
}

bool hasLayouts(LayerOp layer) {
  auto hasLayout = [](Type type) { return LayoutAttr::find(type) != nullptr; };
  WalkResult result = layer.walk([&](Operation *op) {
    return llvm::any_of(op->getOperandTypes(), hasLayout) ||
                   llvm::any_of(op->getResultTypes(), hasLayout)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

llvm::DenseSet<Value> findDifferentiated(LayerOp layer,
                                         SymbolTableCollection &symbols) {
  llvm::DenseSet<Value> found;
  auto add = [&](Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (tensor && isa<FloatType>(tensor.getElementType()))
      found.insert(value);
  };
  for (Value argument : layer.getArguments())
    add(argument);
  for (Operation &op : layer.getBody().front()) {
    if (op.hasTrait<PiecewiseConstant>())
      continue;
    auto read = dyn_cast<GetParamOp>(op);
    auto param = read ? symbols.lookupNearestSymbolFrom<ParamOp>(
                            layer, read.getParamAttr())
                      : ParamOp();
    bool isTrained = param && param.needsGradient();
    if (isTrained || llvm::any_of(op.getOperands(), [&](Value operand) {
          return found.contains(operand);
        }))
      for (Value result : op.getResults())
        add(result);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Returns the reshard that an operator claims to perform.
static std::optional<ReshardCollective> describe(Operation *op) {
  ReshardCollective collective;
  auto setAxes = [&](ArrayAttr axes) {
    for (auto axis : axes.getAsRange<StringAttr>())
      collective.axes.push_back(axis.getValue());
  };
  auto setAlong = [&](ReshardKind kind, auto along) {
    collective.kind = kind;
    collective.dim = along.getDim();
    setAxes(along.getAxes());
  };
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    collective.kind = ReshardKind::AllReduce;
    setAxes(reduce.getAxes());
  } else if (auto mirror = dyn_cast<MirrorOp>(op)) {
    collective.kind = ReshardKind::Mirror;
    setAxes(mirror.getAxes());
  } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    setAlong(ReshardKind::ReduceScatter, scatter);
  } else if (auto own = dyn_cast<OwnPartOp>(op)) {
    setAlong(ReshardKind::OwnPart, own);
  } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
    setAlong(ReshardKind::AllGather, gather);
    collective.replicated = gather.getReplicated();
  } else if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    collective.kind = ReshardKind::AllToAll;
    collective.dim = static_cast<int64_t>(exchange.getSplit());
    collective.concat = static_cast<int64_t>(exchange.getConcat());
    setAxes(exchange.getAxes());
  } else {
    return std::nullopt;
  }
  return collective;
}

static LogicalResult verifyCollective(Operation *op,
                                      const ReshardCollective &collective) {
  LayoutAttr from = LayoutAttr::find(op->getOperand(0).getType());
  LayoutAttr to = LayoutAttr::find(op->getResult(0).getType());
  if (!from || !to)
    return op->emitOpError("expected tensors with a layout");
  Layout before = getLayout(op->getOperand(0));
  auto isPartial = [&](StringRef axis) {
    return llvm::is_contained(before.partial, axis);
  };
  bool sums = collective.kind == ReshardKind::AllReduce ||
              collective.kind == ReshardKind::ReduceScatter;
  for (StringRef axis : collective.axes)
    if (sums != isPartial(axis))
      return op->emitOpError(sums ? "sums over axis '" : "is over axis '")
             << axis << "', over which its operand is "
             << (sums ? "not partial: " : "partial: ") << from;
  std::optional<ReshardCollective> meant =
      getReshardCollective(before, getLayout(op->getResult(0)));
  Axes axes = collective.axes;
  if (!isAlongDimension(collective.kind))
    llvm::sort(axes);
  if (meant && meant->kind == collective.kind && meant->axes == axes &&
      meant->dim == collective.dim && meant->concat == collective.concat &&
      meant->replicated == collective.replicated)
    return success();
  return op->emitOpError("does not make ") << to << " of " << from;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {

/// Checks one operator against its rule.
class OperatorVerifier {
public:
  OperatorVerifier(Operation *op, const MeshSizes &mesh,
                   const llvm::DenseSet<Value> &differentiated,
                   ShardingRule rule)
      : op(op), mesh(mesh), differentiated(differentiated),
        rule(std::move(rule)), axes(this->rule.factors.size()),
        isKnown(this->rule.factors.size(), false) {}

  LogicalResult verify() {
    for (unsigned number = 0; number < op->getNumOperands(); ++number)
      if (failed(readOperand(number)))
        return failure();
    if (failed(verifyUsedOnce()) || failed(verifyPartial()) ||
        failed(verifyReduced()))
      return failure();
    return verifyResults();
  }

private:
  LogicalResult readOperand(unsigned number) {
    Layout layout = getLayout(op->getOperand(number));
    for (auto [dim, factors, cut] :
         llvm::enumerate(rule.operands[number], layout.cuts)) {
      std::optional<SmallVector<Axes>> split =
          splitAxes(cut, getSizes(rule, factors), mesh);
      if (!split)
        return op->emitOpError("expected dimension ")
               << dim << " of operand " << number << " to divide over "
               << llvm::join(cut, " and ");
      for (auto [factor, part] : llvm::zip_equal(factors, *split)) {
        if (!part.empty() && rule.factors[factor].kind == FactorKind::Whole)
          return op->emitOpError("expected all of dimension ")
                 << dim << " of operand " << number << ", but it is cut over "
                 << llvm::join(part, " and ");
        if (isKnown[factor] && axes[factor] != part)
          return op->emitOpError("expected dimension ")
                 << dim << " of operand " << number
                 << " to be cut like those that go with it, but got "
                 << LayoutAttr::find(op->getOperand(number).getType());
        isKnown[factor] = true;
        axes[factor] = part;
      }
    }
    return success();
  }

  LogicalResult verifyUsedOnce() {
    Axes seen;
    for (const Axes &factor : axes)
      for (StringRef axis : factor) {
        if (llvm::is_contained(seen, axis))
          return op->emitOpError("expected axis '")
                 << axis << "' to cut one of its dimensions, but it cuts two";
        seen.push_back(axis);
      }
    return success();
  }

  LogicalResult verifyPartial() {
    SmallVector<Axes> all;
    SmallVector<unsigned> summands;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      all.push_back(getLayout(operand).partial);
      if (!all.back().empty())
        summands.push_back(number);
      addMissing(partial, all.back());
    }
    const bool isAlone = summands.size() == 1 && !rule.linearity.empty() &&
                         rule.linearity[summands.front()] == Linearity::Alone;
    if (summands.empty() || isAlone ||
        (rule.isLinear() && llvm::all_equal(all)))
      return success();
    return op->emitOpError("takes a value that is partial over ")
           << llvm::join(partial, " and ")
           << ", but is not linear in it; expected the sum";
  }

  /// An axis that cuts one operand makes the gradients of the others partial.
  LogicalResult verifyReduced() {
    Axes used = getUsed(axes);
    for (Value operand : op->getOperands())
      for (StringRef axis : getLayout(operand).reduced)
        if (!llvm::is_contained(used, axis))
          addMissing(lifted, axis);
    Axes wanted = used;
    addMissing(wanted, lifted);
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      Layout layout = getLayout(operand);
      if (!differentiated.contains(operand))
        continue;
      for (StringRef axis : wanted)
        if (!layout.cutsOver(axis) && !llvm::is_contained(layout.reduced, axis))
          return op->emitOpError("expected operand ")
                 << number << " to be reduced over '" << axis
                 << "', as its gradient will be partial, but got "
                 << LayoutAttr::find(operand.getType());
    }
    return success();
  }

  LogicalResult verifyResults() {
    for (auto [result, dims] :
         llvm::zip_equal(op->getResults(), rule.results)) {
      Layout expected = passes::getLayout(dims, axes);
      expected.partial = getSummed(rule, dims, axes);
      addMissing(expected.partial, partial);
      expected.reduced = lifted;
      if (getLayout(result) != expected)
        return op->emitOpError("expected result ")
               << result.getResultNumber() << " to lie as "
               << expected.getAttr(op->getContext()) << ", but got "
               << LayoutAttr::find(result.getType());
    }
    return success();
  }

  Operation *op;
  const MeshSizes &mesh;
  const llvm::DenseSet<Value> &differentiated;
  ShardingRule rule;
  SmallVector<Axes> axes;
  SmallVector<bool> isKnown;
  Axes partial, lifted;
};

} // namespace

static LogicalResult
verifyOperator(Operation *op, const MeshSizes &mesh,
               const llvm::DenseSet<Value> &differentiated) {
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  return OperatorVerifier(op, mesh, differentiated, std::move(*rule)).verify();
}

static LogicalResult verifyReshard(Operation *op, const MeshSizes &mesh) {
  std::optional<ReshardCollective> collective = getReshardCollective(
      getLayout(op->getOperand(0)), getLayout(op->getResult(0)));
  if (!collective)
    return op->emitOpError("expected layouts of which one collective makes the "
                           "second of the first, but got ")
           << LayoutAttr::find(op->getOperand(0).getType()) << " and "
           << LayoutAttr::find(op->getResult(0).getType());
  auto tensor = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isa<FloatType>(tensor.getElementType()) &&
      collective->kind != ReshardKind::OwnPart)
    return op->emitOpError("is an ")
           << getName(collective->kind)
           << " of integers, of which a rank can only "
           << "take its own part";
  // The ranks of a group are in the mesh's order, and parts in that of the
  // axes.
  if (isAlongDimension(collective->kind) && !mesh.isInOrder(collective->axes))
    return op->emitOpError("is over ")
           << llvm::join(collective->axes, " and ")
           << ", whose parts are not in the order of " << MeshAttr::find(op);
  return success();
}

/// The gradient of a loss is 1 on all ranks.
static LogicalResult verifyLoss(ReturnOp end) {
  for (Value value : end.getValues()) {
    Layout layout = getLayout(value);
    if (isLoss(value.getType()) &&
        (!layout.partial.empty() || !layout.reduced.empty()))
      return end.emitOpError("expected a loss that is the same on all ranks, "
                             "and has the same gradient, but got ")
             << LayoutAttr::find(value.getType());
  }
  return success();
}

LogicalResult verifyReshards(LayerOp layer) {
  if (!hasLayouts(layer))
    return success();
  MeshSizes mesh(MeshAttr::find(layer));
  for (ReshardOp reshard : layer.getBody().getOps<ReshardOp>())
    if (failed(verifyReshard(reshard, mesh)))
      return failure();
  return success();
}

/// Returns which operands the gradient of the loss flows to.
static llvm::SmallBitVector
getDifferentiated(Operation &op, const llvm::DenseSet<Value> &differentiated) {
  llvm::SmallBitVector flags(op.getNumOperands());
  for (auto [number, operand] : llvm::enumerate(op.getOperands()))
    flags[number] = differentiated.contains(operand);
  return flags;
}

LogicalResult ShardingVerifier::verify(LayerOp layer) {
  if (!hasLayouts(layer))
    return success();
  MeshSizes mesh(MeshAttr::find(layer));
  llvm::DenseSet<Value> differentiated = findDifferentiated(layer, symbols);
  for (Operation &op : layer.getBody().front().without_terminator()) {
    if (isa<GetParamOp>(op))
      continue;
    if (isa<ReshardOp>(op)) {
      if (failed(verifyReshard(&op, mesh)))
        return failure();
      continue;
    }
    if (!checked.add(&op, getDifferentiated(op, differentiated)).second)
      continue;
    std::optional<ReshardCollective> collective = describe(&op);
    LogicalResult result = collective
                               ? verifyCollective(&op, *collective)
                               : verifyOperator(&op, mesh, differentiated);
    if (failed(result))
      return failure();
  }
  return verifyLoss(getReturn(layer));
}

static uint64_t getHash(Operation *op) {
  const llvm::hash_code hash = OperationEquivalence::computeHash(
      op, OperationEquivalence::ignoreHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  // The two largest numbers are reserved by the map.
  return static_cast<uint64_t>(llvm::hash_combine(
             hash, llvm::hash_combine_range(op->getOperandTypes()))) >>
         1;
}

std::pair<unsigned, bool> EqualOperators::add(Operation *op,
                                              llvm::SmallBitVector flags) {
  llvm::SmallVector<Group, 1> &alike = groups[getHash(op)];
  auto found = llvm::find_if(alike, [&](const Group &group) {
    return group.flags == flags &&
           OperationEquivalence::isEquivalentTo(
               group.first, op, OperationEquivalence::ignoreValueEquivalence,
               nullptr, OperationEquivalence::IgnoreLocations);
  });
  if (found != alike.end())
    return {found->number, false};
  alike.push_back({op, std::move(flags), numGroups});
  return {numGroups++, true};
}

} // namespace mf::passes

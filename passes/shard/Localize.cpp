//===- Localize.cpp - Local types of shards -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerifier.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"

namespace mf::passes {

#define GEN_PASS_DEF_LOCALIZE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// Tables with the indices at which parts begin. There is one for each set of
/// axes and part size.
class CoordinateTables : public LocalTables {
public:
  CoordinateTables(ModelOp model, const MeshSizes &mesh)
      : model(model), mesh(mesh), builder(model.getContext()) {}

  Value getFirstIndex(Operation *user, ArrayRef<StringRef> axes,
                      int64_t partSize) override {
    ParamOp table = getTable(axes, partSize);
    builder.setInsertionPoint(user);
    return GetParamOp::create(builder, user->getLoc(), table.getLocalType(),
                              table.getSymName());
  }

private:
  ParamOp getTable(ArrayRef<StringRef> axes, int64_t partSize) {
    std::string name =
        "first." + llvm::join(axes, ".") + "." + std::to_string(partSize);
    if (auto table = model.lookupSymbol<ParamOp>(name))
      return table;
    builder.setInsertionPointToStart(&model.getBody().front());
    auto type =
        RankedTensorType::get({mesh.getNumParts(axes)}, builder.getI32Type());
    Layout layout(1);
    layout.cuts[0] = Axes(axes);
    auto table = ParamOp::create(builder, model.getLoc(), name, type,
                                 InitAttr::get(builder.getContext(),
                                               InitKind::Coordinate,
                                               static_cast<double>(partSize)),
                                 /*frozen=*/true, FlatSymbolRefAttr());
    table.setLayoutAttr(layout.getAttr(builder.getContext()));
    return table;
  }

  ModelOp model;
  const MeshSizes &mesh;
  OpBuilder builder;
};

} // namespace

/// Reports the memory that an operator reserves for rows that may arrive at
/// this rank.
static void reportRoom(LayerOp layer, BoundedRowsOpInterface op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t room = op.getRoom(), mean = op.getMeanRows();
  std::string times = llvm::formatv("{0:F2}", static_cast<double>(room) /
                                                  static_cast<double>(mean));
  remark::analysis(layer.getLoc(),
                   remark::RemarkOpts::name("Room").category("shard").function(
                       layer.getSymName()))
      << remark::add("'{0}' has room for {1} times the mean of rows",
                     cast<ComputeOpInterface>(op.getOperation()).getCellName(),
                     times)
      << remark::metric("rows", room) << remark::metric("mean", mean)
      << remark::metric("bytes", getTensorBytes(type));
}

namespace {

/// One model.
class Localizer {
public:
  explicit Localizer(ModelOp model)
      : model(model), mesh(MeshAttr::find(model)), tables(model, mesh) {}

  LogicalResult run() {
    if (failed(placeParameters()))
      return failure();
    ShardingVerifier verifier;
    for (auto layer : model.getBody().getOps<LayerOp>())
      if (failed(verifier.verify(layer)))
        return failure();
    for (auto layer : model.getBody().getOps<LayerOp>())
      if (failed(localize(layer)))
        return failure();
    return success();
  }

private:
  LogicalResult placeParameters() {
    const SymbolTable params(model);
    WalkResult result = model.walk([&](GetParamOp read) {
      return failed(place(read, params)) ? WalkResult::interrupt()
                                         : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    for (auto param : model.getBody().getOps<ParamOp>()) {
      std::optional<StringRef> tied = param.getTied();
      auto owner = tied ? params.lookup<ParamOp>(*tied) : ParamOp();
      if (!owner || !owner.getLayoutAttr() || !param.getLayoutAttr())
        continue;
      if (owner.getLayoutAttr().getCuts() != param.getLayoutAttr().getCuts())
        return param.emitOpError("lies as ")
               << param.getLayoutAttr() << ", but '" << *tied
               << "', to which it is tied, as " << owner.getLayoutAttr()
               << "; expected both to be cut alike";
    }
    return success();
  }

  LogicalResult place(GetParamOp read, const SymbolTable &params) {
    LayoutAttr layout = LayoutAttr::find(read.getType());
    auto param = params.lookup<ParamOp>(read.getParam());
    if (!layout || !param)
      return success();
    if (param.getLayoutAttr() && param.getLayoutAttr() != layout)
      return read.emitOpError("reads '")
             << read.getParam() << "' as " << layout
             << ", but another reads it as " << param.getLayoutAttr();
    param.setLayoutAttr(layout);
    return success();
  }

  LogicalResult verifyDivides(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (getLocalType(type, LayoutAttr::find(type), mesh))
      return success();
    return emitError(value.getLoc())
           << "expected dimensions that divide over their axes of "
           << MeshAttr::find(model) << ", but got " << type;
  }

  LogicalResult localize(LayerOp layer) {
    if (!hasLayouts(layer))
      return success();
    Block &body = layer.getBody().front();
    SmallVector<Value> values(body.getArguments());
    SmallVector<Operation *> operators;
    for (Operation &op : body.without_terminator()) {
      if (isa<ReshardOp>(op))
        return op.emitOpError("is left; run mf-lower-reshards first");
      llvm::append_range(values, op.getResults());
      operators.push_back(&op);
    }
    std::vector<std::pair<std::vector<Layout>, std::vector<Layout>>> layouts;
    auto getLayouts = [](ValueRange of) {
      std::vector<Layout> found;
      for (Value value : of) {
        auto type = cast<RankedTensorType>(value.getType());
        found.emplace_back(LayoutAttr::find(type), type.getRank());
      }
      return found;
    };
    for (Operation *op : operators)
      layouts.emplace_back(getLayouts(op->getOperands()),
                           getLayouts(op->getResults()));
    for (Value value : values)
      if (failed(verifyDivides(value)))
        return failure();
    for (Value value : values)
      localize(value);
    for (auto [op, both] : llvm::zip_equal(operators, layouts))
      if (auto shardable = dyn_cast<ShardingRuleOpInterface>(op))
        shardable.localize(both.first, both.second, tables);
    for (Operation *op : operators)
      if (auto bounded = dyn_cast<BoundedRowsOpInterface>(op))
        reportRoom(layer, bounded);
    layer.setFunctionType(
        FunctionType::get(model.getContext(), body.getArgumentTypes(),
                          getReturn(layer)->getOperandTypes()));
    remark::passed(layer.getLoc(), remark::RemarkOpts::name("Localize")
                                       .category("shard")
                                       .function(layer.getSymName()))
        << remark::add("tensors of one rank")
        << remark::metric("values", values.size());
    return success();
  }

  void localize(Value value) {
    value.setType(
        getLocalType(value.getType(), LayoutAttr::find(value.getType()), mesh));
  }

  ModelOp model;
  MeshSizes mesh;
  CoordinateTables tables;
};

struct LocalizePass : mf::passes::impl::LocalizeBase<LocalizePass> {
  void runOnOperation() override {
    if (failed(Localizer(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

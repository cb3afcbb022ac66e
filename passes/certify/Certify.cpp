//===- Certify.cpp - Certificates of chunks -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/certify/TermEmitter.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

#define GEN_PASS_DEF_CERTIFY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf;
using namespace mf::passes;
using ir::EmittedBuffer;

namespace {

/// Runs the operators of a chunk on terms, as if they were lowered one by one:
/// each emits its launches, which find the terms of their operands in buffers.
class ChunkTerms : public TermEmitter {
public:
  explicit ChunkTerms(ir::ChunkOp chunk) : TermEmitter(chunk), chunk(chunk) {}

  /// Runs all operators of the chunk. Reports an error at an operator that has
  /// no term.
  mlir::LogicalResult run() {
    Block &body = chunk.getBody().front();
    for (BlockArgument argument : body.getArguments())
      values[argument] =
          create(cast<RankedTensorType>(argument.getType()),
                 program::getInputTerm("argument", argument.getArgNumber()));
    SmallVector<Operation *> operators;
    for (Operation &op : body.without_terminator())
      operators.push_back(&op);
    for (Operation *op : operators) {
      if (failed(runOperator(op)))
        return failure();
      if (auto saved = dyn_cast<ir::SavedFormOpInterface>(op))
        if (failed(runSavedForm(saved)))
          return failure();
    }
    return success();
  }

  /// Returns pairs of terms: those by which recompute may replace values, and
  /// those of the values.
  llvm::ArrayRef<std::pair<program::Term, program::Term>> getEqual() const {
    return equalTerms;
  }

  ir::EmittedBuffer getState(ir::State state, StringRef parameter) override {
    auto param = symbols.lookup<ir::ParamOp>(parameter);
    if (param && state == ir::State::Parameter)
      return add(getStored(param));
    if (param && state == ir::State::Gathered)
      return add(getStoredOrGathered(param));
    result = current->emitOpError("uses the state of '")
             << parameter << "', which only an update may";
    return createTemporary(
        RankedTensorType::get({}, Float32Type::get(chunk.getContext())));
  }

  ir::EmittedBuffer getReport(StringRef quantity,
                              RankedTensorType type) override {
    result = current->emitOpError("reports '")
             << quantity << "', which only an update may";
    return createTemporary(type);
  }

private:
  mlir::LogicalResult runOperator(Operation *op) {
    current = op;
    if (auto read = dyn_cast<ir::GetParamOp>(op)) {
      auto param = symbols.lookup<ir::ParamOp>(read.getParam());
      if (!param)
        return read.emitOpError("expected a parameter, but got '")
               << read.getParam() << "'";
      View view = getStoredOrGathered(param);
      view.type = cast<RankedTensorType>(read.getType());
      values[read.getResult()] = view;
      return result;
    }
    if (auto cut = dyn_cast<ir::CutOp>(op)) {
      for (auto [number, gradient] : llvm::enumerate(cut.getOutputGradients()))
        values[gradient] = create(cast<RankedTensorType>(gradient.getType()),
                                  program::getInputTerm("gradient", number));
      return success();
    }
    auto compute = dyn_cast<ir::ComputeOpInterface>(op);
    if (!compute)
      return op->emitOpError(
          "has no term: expected an operator of the model or of its backward; "
          "run mf-certify right after mf-build-backward");
    runCompute(compute);
    views.clear();
    return result;
  }

  /// Recompute may replace a result by the value that is computed from the
  /// saved form.
  mlir::LogicalResult runSavedForm(ir::SavedFormOpInterface op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value saved = op.save(builder);
    Value restored = op.restore(builder, saved);
    LogicalResult done = success();
    for (Value value : {saved, restored})
      if (succeeded(done))
        done = runOperator(value.getDefiningOp());
    if (succeeded(done))
      equalTerms.emplace_back(get(restored), get(op->getResult(0)));
    for (Value value : {restored, saved}) {
      values.erase(value);
      value.getDefiningOp()->erase();
    }
    if (succeeded(done))
      equal[equalTerms.back().first] = equalTerms.back().second;
    return done;
  }

  /// Tied parameters are one value.
  View getStored(ir::ParamOp param) {
    StringRef owner = param.getTied().value_or(param.getSymName());
    auto [found, isNew] = stored.try_emplace(owner);
    if (isNew)
      found->second = create(param.getStoredType(),
                             program::getInputTerm("parameter", owner));
    return found->second;
  }

  /// Returns a parameter as layers read it. If its storage is sharded over
  /// ranks, it is gathered before the step's tasks.
  View getStoredOrGathered(ir::ParamOp param) {
    if (!param.getGathered())
      return getStored(param);
    StringRef name = param.getSymName();
    if (auto found = gathered.find(name); found != gathered.end())
      return found->second;
    gathered[name] = create(param.getReadType(), std::nullopt);
    ir::emitGather(*this, param);
    return gathered[name];
  }

  ir::ChunkOp chunk;
  llvm::StringMap<View> stored, gathered;
  std::vector<std::pair<program::Term, program::Term>> equalTerms;
};

/// Writes the certificate of a chunk (mf/Program/Certificate.h).
class CertificateWriter {
public:
  explicit CertificateWriter(ChunkOp chunk)
      : chunk(chunk), builder(chunk.getContext()), terms(chunk) {}

  LogicalResult write() {
    if (failed(terms.run()))
      return failure();
    addNumber("arguments", chunk.getArgumentTypes().size());
    addNumber("output_gradients", chunk.getCut().getOutputs().size());
    addOutputs();
    addGradients();
    addEqual();
    chunk->setAttr(certificateAttribute,
                   entries.getDictionary(chunk.getContext()));
    remark::analysis(chunk.getLoc(), remark::RemarkOpts::name("Certificate")
                                         .category("certify")
                                         .function(chunk.getSymName()))
        << remark::add("has terms for what it computes")
        << remark::metric("results", chunk.getResultTypes().size() +
                                         chunk.getCut().getOutputs().size());
    return success();
  }

private:
  void add(StringRef key, ArrayRef<Attribute> results) {
    if (!results.empty())
      entries.set(key, builder.getArrayAttr(results));
  }
  void addNumber(StringRef key, size_t number) {
    entries.set(key, builder.getI64IntegerAttr(static_cast<int64_t>(number)));
  }
  Attribute getResult(StringRef name, Value value) {
    return builder.getArrayAttr(
        {builder.getStringAttr(name),
         builder.getI64IntegerAttr(static_cast<int64_t>(terms.get(value)))});
  }
  static StringRef getOperatorName(Value value) {
    auto op = getViewedValue(value).getDefiningOp<ComputeOpInterface>();
    return op ? op.getCellName() : "";
  }

  /// Outputs that were received from earlier pieces of the sequence are left
  /// out, because they exist already.
  void addOutputs() {
    CutOp cut = chunk.getCut();
    SmallVector<Value> values(cut.getOutputs());
    Value *end = values.end() - chunk.getFuture();
    values.erase(end - chunk.getNumPassedOn(), end);
    SmallVector<Attribute> outputs, losses;
    const SmallVector<LossPart> parts = findLossParts(chunk);
    for (Value value : values) {
      if (!isLoss(value.getType())) {
        outputs.push_back(getResult(getOperatorName(value), value));
        continue;
      }
      StringRef part = losses.size() < parts.size() ? parts[losses.size()].name
                                                    : StringRef();
      losses.push_back(
          getResult(part.empty() ? getOperatorName(value) : part, value));
    }
    add("outputs", outputs);
    add("losses", losses);
  }

  void addGradients() {
    auto model = chunk->getParentOfType<ModelOp>();
    SymbolTable symbols(model);
    OperandRange values = getReturn(chunk).getValues();
    const size_t numInputs = values.size() - chunk.getGradients().size();
    SmallVector<Attribute> inputs, gradients, records, largest;
    for (Value value : values.take_front(numInputs))
      inputs.push_back(getResult(getOperatorName(value), value));
    for (auto [name, value] :
         llvm::zip_equal(chunk.getGradients().getAsRange<FlatSymbolRefAttr>(),
                         values.drop_front(numInputs))) {
      auto param = symbols.lookup<ParamOp>(name.getValue());
      const std::optional<UpdateRule> rule =
          param ? param.getUpdateRule() : std::nullopt;
      (rule == UpdateRule::Record    ? records
       : rule == UpdateRule::Largest ? largest
                                     : gradients)
          .push_back(getResult(name.getValue(), value));
    }
    add("input_gradients", inputs);
    add("gradients", gradients);
    add("records", records);
    add("largest", largest);
  }

  void addEqual() {
    SmallVector<int64_t> pairs;
    for (auto [made, stands] : terms.getEqual())
      llvm::append_values(pairs, static_cast<int64_t>(made),
                          static_cast<int64_t>(stands));
    if (!pairs.empty())
      entries.set("equal", builder.getDenseI64ArrayAttr(pairs));
  }

  ChunkOp chunk;
  Builder builder;
  ChunkTerms terms;
  NamedAttrList entries;
};

struct CertifyPass : mf::passes::impl::CertifyBase<CertifyPass> {
  void runOnOperation() override {
    for (auto chunk : getOperation().getBody().getOps<ChunkOp>())
      if (failed(CertificateWriter(chunk).write()))
        return signalPassFailure();
  }
};

} // namespace

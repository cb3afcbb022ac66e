//===- Certify.cpp - Certificates of chunks -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CertificateAttribute.h"
#include "dialects/mf/LossPart.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/certify/ChunkTerms.h"

namespace mf::passes {
#define GEN_PASS_DEF_CERTIFY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::ChunkTerms;

namespace {

/// Writes the certificate of a chunk (mf/Program/Certificate.h).
class CertificateWriter {
public:
  explicit CertificateWriter(ChunkOp chunk)
      : chunk(chunk), builder(chunk.getContext()), terms(chunk) {}

  LogicalResult write();

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
  void addOutputs();
  void addGradients();
  void addEqual();

  ChunkOp chunk;
  Builder builder;
  ChunkTerms terms;
  NamedAttrList entries;
};

} // namespace

/// Outputs that were received from earlier pieces of the sequence are left out,
/// because they exist already.
void CertificateWriter::addOutputs() {
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
    StringRef part =
        losses.size() < parts.size() ? parts[losses.size()].name : StringRef();
    losses.push_back(
        getResult(part.empty() ? getOperatorName(value) : part, value));
  }
  add("outputs", outputs);
  add("losses", losses);
}

void CertificateWriter::addGradients() {
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

void CertificateWriter::addEqual() {
  SmallVector<int64_t> pairs;
  for (auto [made, stands] : terms.getEqual())
    llvm::append_values(pairs, static_cast<int64_t>(made),
                        static_cast<int64_t>(stands));
  if (!pairs.empty())
    entries.set("equal", builder.getDenseI64ArrayAttr(pairs));
}

LogicalResult CertificateWriter::write() {
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

namespace {

struct CertifyPass : mf::passes::impl::CertifyBase<CertifyPass> {
  void runOnOperation() override {
    for (auto chunk : getOperation().getBody().getOps<ChunkOp>())
      if (failed(CertificateWriter(chunk).write()))
        return signalPassFailure();
  }
};

} // namespace

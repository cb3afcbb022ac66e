//===- RoutineExchanges.cpp - Collectives in a routine --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/RoutineExchanges.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

static Value getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ascend::ViewOp>())
    buffer = view.getSource();
  return buffer;
}

void RoutineExchanges::wait(const Pending &exchange) {
  ascend::WaitOp::create(builder, exchange.loc, names::compute, exchange.done);
}

void RoutineExchanges::waitFor(ValueRange read, ValueRange written) {
  llvm::erase_if(pending, [&](const Pending &exchange) {
    bool isUsed = llvm::any_of(read,
                               [&](Value buffer) {
                                 return getRoot(buffer) == exchange.output;
                               }) ||
                  llvm::any_of(written, [&](Value buffer) {
                    Value root = getRoot(buffer);
                    return root == exchange.output ||
                           llvm::is_contained(exchange.inputs, root);
                  });
    if (isUsed)
      wait(exchange);
    return isUsed;
  });
}

void RoutineExchanges::waitForAll() {
  for (const Pending &exchange : pending)
    wait(exchange);
  pending.clear();
}

void RoutineExchanges::communicate(Location loc,
                                   const ir::EmittedCollective &collective,
                                   StringRef cell) {
  Value output = collective.output.getValue();
  SmallVector<Value, 3> inputs;
  for (ir::EmittedBuffer read :
       {collective.input, collective.send, collective.receive})
    if (read)
      inputs.push_back(read.getValue());
  waitFor(inputs, output);
  MLIRContext *context = program.getContext();
  StringRef stream =
      program.getStream((names::collective + "." + collective.channel).str(),
                        ascend::StreamKind::Communication);
  auto axes = llvm::map_to_vector(collective.axes, [&](StringRef axis) {
    return StringAttr::get(context, axis);
  });
  Value ready = ascend::RecordOp::create(builder, loc, names::compute);
  auto op = ascend::CollectiveOp::create(
      builder, loc, ascend::EventType::get(context),
      ascend::getDialectKind(collective.kind), collective.input.getValue(),
      output, collective.send.getValue(), collective.receive.getValue(),
      ascend::GroupAttr::get(context, axes, collective.stages),
      ascend::getDialectReduction(collective.reduction),
      collective.fill == 0 ? FloatAttr()
                           : builder.getF64FloatAttr(collective.fill),
      collective.channel,
      cell.empty() ? StringAttr() : builder.getStringAttr(cell), stream, ready);
  pending.push_back({llvm::map_to_vector<3>(inputs, getRoot), getRoot(output),
                     op.getDone(), loc});
}

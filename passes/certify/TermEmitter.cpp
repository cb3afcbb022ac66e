//===- TermEmitter.cpp - Launches that run on terms -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/certify/TermEmitter.h"
#include "dialects/ascend/KernelSpecs.h"
#include "passes/lower/ProgramBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ir::EmittedBuffer;
using program::Term;

/// Returns the bytes of a tensor as kernels and programs count them; 0 if they
/// do not support its type.
static int64_t getSize(RankedTensorType type) {
  std::optional<TensorShape> shape = getTensorShape(type);
  return shape ? shape->getBytes() : 0;
}

TermEmitter::TermEmitter(Operation *scope)
    : scope(scope), symbols(scope->getParentOfType<ir::ModelOp>()) {}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

EmittedBuffer TermEmitter::add(const View &view) {
  return EmittedBuffer(&views.emplace_back(view));
}

TermEmitter::View TermEmitter::create(RankedTensorType type,
                                      std::optional<Term> term) {
  View view{&buffers.emplace_back(), 0, type};
  if (term)
    view.buffer->write(0, getSize(type), *term);
  return view;
}

program::TermRange TermEmitter::getRange(const View &view) {
  return {view.buffer, view.begin, getSize(view.type)};
}

Term TermEmitter::get(Value value) {
  return getRange(values.lookup(value)).read();
}

EmittedBuffer TermEmitter::getBuffer(Value tensor) {
  return add(values.lookup(tensor));
}

EmittedBuffer TermEmitter::createBuffer(Value tensor) {
  View view = create(cast<RankedTensorType>(tensor.getType()), std::nullopt);
  values[tensor] = view;
  return add(view);
}

EmittedBuffer TermEmitter::createTemporary(RankedTensorType type) {
  return add(create(type, std::nullopt));
}

EmittedBuffer TermEmitter::getCoordinate(ArrayAttr axes) {
  auto type =
      RankedTensorType::get({1}, IntegerType::get(scope->getContext(), 32));
  return add(create(type, program::getInputTerm(
                              "parameter", getCoordinateName(scope, axes))));
}

EmittedBuffer TermEmitter::getPart(EmittedBuffer buffer, int64_t byteOffset,
                                   RankedTensorType type) {
  View view = getView(buffer);
  return add({view.buffer, view.begin + byteOffset, type});
}

//===----------------------------------------------------------------------===//
// Launches and collectives
//===----------------------------------------------------------------------===//

void TermEmitter::launch(StringRef kernel, ArrayRef<EmittedBuffer> inputs,
                         ArrayRef<EmittedBuffer> outputs,
                         DictionaryAttr attributes) {
  auto getTypes = [](ArrayRef<EmittedBuffer> list) {
    return llvm::map_to_vector(
        list, [](EmittedBuffer buffer) { return getView(buffer).type; });
  };
  auto getRanges = [](ArrayRef<EmittedBuffer> list) {
    return llvm::map_to_vector(
        list, [](EmittedBuffer buffer) { return getRange(getView(buffer)); });
  };
  const KernelSignature *signature = findKernelSignature(kernel);
  std::optional<KernelSpec> spec = getKernelSpec(
      kernel, getTypes(inputs), getTypes(outputs),
      attributes ? attributes : DictionaryAttr::get(scope->getContext()));
  if (!signature || !spec) {
    result = current->emitOpError("launches '")
             << kernel << "', which is not a kernel with these types";
    return;
  }
  if (llvm::Error error = checkAgainstSignature(*spec)) {
    result = current->emitOpError(llvm::toString(std::move(error)));
    return;
  }
  program::runKernel(*spec, *signature, getRanges(inputs), getRanges(outputs),
                     equal);
}

void TermEmitter::communicate(const ir::EmittedCollective &collective) {
  program::TermCollective terms;
  terms.kind = collective.kind;
  terms.reduction = collective.reduction;
  if (auto shape = getTensorShape(getView(collective.input).type))
    terms.type = shape->type;
  terms.fill = collective.fill;
  for (StringRef axis : collective.axes)
    terms.group.axes.push_back(axis.str());
  terms.group.stages.assign(collective.stages.begin(), collective.stages.end());
  SmallVector<program::TermRange> inputs;
  for (EmittedBuffer input :
       {collective.input, collective.send, collective.receive})
    if (input)
      inputs.push_back(getRange(getView(input)));
  program::runCollective(terms, inputs, getRange(getView(collective.output)),
                         equal);
}

void TermEmitter::runCompute(ir::ComputeOpInterface op) {
  if (!op.isView())
    return op.emitInstructions(*this);
  View view = values.lookup(op->getOperand(0));
  view.type = cast<RankedTensorType>(op->getResult(0).getType());
  values[op->getResult(0)] = view;
}

//===- MfDialect.cpp - The mf dialect, its attributes and types -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfDialect.h"
#include "dialects/mf/Format.h"
#include "dialects/mf/MfOps.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf::ir;

#include "dialects/mf/MfDialect.cpp.inc"
#include "dialects/mf/MfEnums.cpp.inc"
#include "dialects/mf/MfInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/mf/MfAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/mf/MfTypes.cpp.inc"

void MfDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/mf/MfAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/mf/MfTypes.cpp.inc"
      >();
// clang-tidy does not check what addOperations makes of operations.
#ifndef MF_TIDY
  addOperations<
#define GET_OP_LIST
#include "dialects/mf/MfOps.cpp.inc"
      >();
#endif
  addBytecodeVersion(*this);
}

FailureOr<llvm::APFloat> mf::ir::parseDouble(AsmParser &parser) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  return APFloat(value);
}

DictionaryAttr mf::ir::getDefaultKernelAttributes(Operation *op) {
  // Operation::getAttrs() would make a dictionary of all of them first, which
  // the context keeps.
  NamedAttrList all(op->getDiscardableAttrDictionary());
  op->getName().populateInherentAttrs(op, all);
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : all)
    if (!llvm::is_contained(
            {"name", "operandSegmentSizes", "recompute", "swap"},
            attribute.getName().getValue()) &&
        !attribute.getNameDialect())
      attributes.push_back(attribute);
  return DictionaryAttr::get(op->getContext(), attributes);
}

mf::Engine mf::ir::getKernelEngine(StringRef kernel) {
  const KernelSignature *signature = findKernelSignature(kernel);
  return signature ? signature->engine : Engine::Vector;
}

int64_t mf::ir::getKernelFlops(Operation *op, StringRef kernel,
                               DictionaryAttr attributes) {
  const KernelSignature *signature = findKernelSignature(kernel);
  if (!signature)
    return 0;
  std::optional<KernelSpec> spec = getKernelSpec(op, kernel, attributes);
  return spec ? signature->getFlops(*spec) : 0;
}

Value mf::ir::getViewedValue(Value value) {
  while (auto op = value.getDefiningOp<ComputeOpInterface>()) {
    if (!op.isView())
      break;
    value = op->getOperand(0);
  }
  return value;
}

void mf::ir::emitKernel(ComputeOpInterface op, LaunchEmitter &emitter) {
  SmallVector<EmittedBuffer> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(emitter.getBuffer(operand));
  for (Value result : op->getResults())
    outputs.push_back(emitter.createBuffer(result));
  emitter.launch(op.getKernelName(), inputs, outputs, op.getKernelAttributes());
}

bool mf::ir::isMarkedForRecompute(ComputeOpInterface op) {
  std::optional<RecomputeKind> mark = op.getRecomputeMark();
  return mark && *mark != RecomputeKind::Excluded &&
         *mark != RecomputeKind::Output;
}

bool mf::ir::hasAddressableSize(Type type) {
  constexpr int64_t maximum = int64_t(1) << 48;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat())
    return false;
  if (llvm::is_contained(tensor.getShape(), 0))
    return true;
  int64_t bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  return llvm::all_of(tensor.getShape(), [&](int64_t extent) {
    return !llvm::MulOverflow(bytes, extent, bytes) && bytes <= maximum;
  });
}

RankedTensorType mf::ir::getGlobalType(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).dropEncoding();
}

int64_t mf::ir::getTensorBytes(Type type) {
  if (auto host = dyn_cast<HostType>(type))
    type = host.getTensor();
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getElementType().isInteger(1))
    return getBytes(DType::I1, tensor.getNumElements());
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

RankedTensorType mf::ir::getDrawType(MLIRContext *context) {
  return RankedTensorType::get({3}, IntegerType::get(context, 64));
}

InputKind mf::ir::getStepInputKind(LayerKind kind, Type type) {
  if (cast<RankedTensorType>(type).getElementType().isInteger(64))
    return InputKind::Draw;
  return kind == LayerKind::Head ? InputKind::Labels : InputKind::Tokens;
}

int64_t mf::ir::getMicroBatchOfInput(ArrayAttr inputs, size_t number,
                                     int64_t run) {
  Attribute kind = inputs[number];
  int64_t copies = llvm::count(inputs, kind);
  return run * copies + llvm::count(inputs.getValue().take_front(number), kind);
}

bool mf::ir::isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

bool mf::ir::isLoss(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType().isF32();
}

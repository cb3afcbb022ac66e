//===- IrSaboteur.cpp - Breaks operations at random -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IrSaboteur.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace mf::tools {

size_t IrSaboteur::draw(size_t count) { return random() % count; }

/// An operation with a result gives way to an operand of its type; one on
/// buffers is left out.
std::string IrSaboteur::leaveOut(Operation *op) {
  if (isa<ModuleOp>(op->getParentOp()))
    return "";
  if (op->getNumResults() == 0 && !op->hasTrait<OpTrait::IsTerminator>()) {
    op->erase();
    return "left out";
  }
  for (OpOperand &operand : op->getOpOperands())
    if (op->getNumResults() > 0 &&
        operand.get().getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand.get());
      return "left out";
    }
  return "";
}

/// An operation with a result is done to its own result again.
std::string IrSaboteur::repeat(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return "";
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  if (op->getNumResults() == 0) {
    builder.clone(*op);
    return "repeated";
  }
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (operand.getType() == op->getResult(0).getType()) {
      Operation *clone = builder.clone(*op);
      op->getResult(0).replaceAllUsesExcept(clone->getResult(0), clone);
      clone->setOperand(number, op->getResult(0));
      return "done again to its result";
    }
  return "";
}

std::string IrSaboteur::exchange(Operation *op) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
      if (op->getOperand(i).getType() == op->getOperand(j).getType() &&
          op->getOperand(i) != op->getOperand(j))
        pairs.emplace_back(i, j);
  if (pairs.empty())
    return "";
  auto [i, j] = pairs[draw(pairs.size())];
  Value first = op->getOperand(i);
  op->setOperand(i, op->getOperand(j));
  op->setOperand(j, first);
  return "exchanged operands " + std::to_string(i) + " and " +
         std::to_string(j);
}

std::string IrSaboteur::takeAnother(Operation *op) {
  if (op->getNumOperands() == 0)
    return "";
  const unsigned number = draw(op->getNumOperands());
  Value operand = op->getOperand(number);
  SmallVector<Value> others;
  auto consider = [&](Value value) {
    if (value != operand && value.getType() == operand.getType())
      others.push_back(value);
  };
  for (Value argument : op->getBlock()->getArguments())
    consider(argument);
  for (Operation &before :
       llvm::make_range(op->getBlock()->begin(), Block::iterator(op)))
    for (Value result : before.getResults())
      consider(result);
  if (others.empty())
    return "";
  op->setOperand(number, others[draw(others.size())]);
  return "took another operand " + std::to_string(number);
}

Attribute IrSaboteur::change(Attribute attribute) {
  Builder builder(attribute.getContext());
  if (auto init = dyn_cast<ir::InitAttr>(attribute))
    return ir::InitAttr::get(attribute.getContext(),
                             init.getKind() == ir::InitKind::Ones
                                 ? ir::InitKind::Zeros
                                 : ir::InitKind::Ones,
                             0.0);
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return builder.getBoolAttr(!flag.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return builder.getIntegerAttr(integer.getType(),
                                  integer.getInt() == 0 || draw(2) == 0
                                      ? integer.getInt() + 1
                                      : integer.getInt() - 1);
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return builder.getFloatAttr(real.getType(),
                                real.getValueAsDouble() * 1.5 + 0.125);
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    if (dictionary.empty())
      return {};
    NamedAttrList entries(dictionary);
    NamedAttribute chosen = *(dictionary.begin() + draw(dictionary.size()));
    Attribute changed = change(chosen.getValue());
    if (!changed)
      return {};
    entries.set(chosen.getName(), changed);
    return entries.getDictionary(attribute.getContext());
  }
  if (auto steps = dyn_cast<ascend::FusedKernelsAttr>(attribute)) {
    SmallVector<StringAttr> kernels(steps.getKernels());
    StringAttr &kernel = kernels[draw(kernels.size())];
    kernel =
        builder.getStringAttr(kernel == "aclnnMul" ? "aclnnAdd" : "aclnnMul");
    return ascend::FusedKernelsAttr::get(
        attribute.getContext(), kernels, steps.getOperands(),
        steps.getAttributes(), steps.getTypes());
  }
  return {};
}

std::string IrSaboteur::changeAttribute(Operation *op) {
  if (auto read = dyn_cast<ir::GetParamOp>(op)) {
    auto params = llvm::to_vector(
        op->getParentOfType<ir::ModelOp>().getOps<ir::ParamOp>());
    read.setParam(params[draw(params.size())].getSymName());
    return "read a parameter";
  }
  SmallVector<NamedAttribute> attributes(op->getAttrs());
  if (attributes.empty())
    return "";
  const NamedAttribute &chosen = attributes[draw(attributes.size())];
  Attribute changed = change(chosen.getValue());
  if (!changed || changed == chosen.getValue())
    return "";
  op->setAttr(chosen.getName(), changed);
  return "changed attribute " + chosen.getName().str();
}

std::string IrSaboteur::breakOne(llvm::ArrayRef<Operation *> operations) {
  if (operations.empty())
    return "";
  Operation *op = operations[draw(operations.size())];
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().skipRegions().useLocalScope());
  std::string done;
  switch (draw(5)) {
  case 0:
    done = leaveOut(op);
    break;
  case 1:
    done = repeat(op);
    break;
  case 2:
    done = exchange(op);
    break;
  case 3:
    done = takeAnother(op);
    break;
  default:
    done = changeAttribute(op);
  }
  return done.empty() ? "" : done + ": " + text;
}

} // namespace mf::tools

//===- MfModelFunctions.cpp - Functions of a model ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The syntax and verification of layers, chunks, forward, backward and update
// functions.
//
//===----------------------------------------------------------------------===//

#include "dialects/mf/MfOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mf::ir;

ParseResult mf::ir::parseModelFunction(OpAsmParser &parser,
                                       OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes))
    return failure();

  if (result.name.getStringRef() == LayerOp::getOperationName()) {
    SMLoc location = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<LayerKind> kind = symbolizeLayerKind(keyword);
    if (!kind)
      return parser.emitError(location, "expected embedding, body or head");
    result.addAttribute("kind", LayerKindAttr::get(parser.getContext(), *kind));
  }

  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttributes;
  bool isVariadic = false;
  if (function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes,
          resultAttributes))
    return failure();
  SmallVector<Type> argumentTypes;
  for (OpAsmParser::Argument &argument : arguments)
    argumentTypes.push_back(argument.type);
  result.addAttribute("function_type",
                      TypeAttr::get(FunctionType::get(
                          parser.getContext(), argumentTypes, resultTypes)));
  Builder &builder = parser.getBuilder();
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, resultAttributes,
      builder.getStringAttr("arg_attrs"), builder.getStringAttr("res_attrs"));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void mf::ir::printModelFunction(OpAsmPrinter &printer,
                                FunctionOpInterface function) {
  printer << ' ';
  printer.printSymbolName(function.getName());
  if (auto layer = dyn_cast<LayerOp>(function.getOperation()))
    printer << ' ' << stringifyLayerKind(layer.getKind());
  printer << ' ';
  function_interface_impl::printFunctionSignature(
      printer, function, function.getArgumentTypes(), /*isVariadic=*/false,
      function.getResultTypes());
  SmallVector<StringRef> elided = {SymbolTable::getSymbolAttrName(),
                                   "function_type", "arg_attrs", "res_attrs"};
  if (isa<LayerOp>(function.getOperation()))
    elided.push_back("kind");
  auto elideIf = [&](bool isDefault, StringRef name) {
    if (isDefault)
      elided.push_back(name);
  };
  if (auto forward = dyn_cast<ForwardOp>(function.getOperation()))
    elideIf(forward.getOutputs() == 1, "outputs");
  for (StringRef name : {"past", "future"})
    if (auto count = function->getAttrOfType<IntegerAttr>(name))
      elideIf(count.getInt() == 0, name);
  if (auto backward = dyn_cast<BackwardOp>(function.getOperation())) {
    elideIf(backward.getOutputs() == 1, "outputs");
    elideIf(backward.getKept() == 0, "kept");
    elideIf(backward.getForwardOutputs().empty(), "forward_outputs");
  }
  if (auto recompute = dyn_cast<RecomputeOp>(function.getOperation()))
    elideIf(recompute.getForwardOutputs().empty(), "forward_outputs");
  function_interface_impl::printFunctionAttributes(printer, function, elided);
  printer << ' ';
  printer.printRegion(function.getFunctionBody(),
                      /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

/// Checks that functions take and return tensors of bounded size, on the device
/// or the host.
static LogicalResult verifySignature(FunctionOpInterface function) {
  auto verifyType = [&](Type type) -> LogicalResult {
    if (isa<HostType>(type) || hasAddressableSize(type))
      return success();
    return function.emitOpError("expected arguments and results to be "
                                "statically shaped tensors of at most 2^48 "
                                "bytes, but got ")
           << type;
  };
  for (Type type : function.getArgumentTypes())
    if (failed(verifyType(type)))
      return failure();
  for (Type type : function.getResultTypes())
    if (failed(verifyType(type)))
      return failure();
  return success();
}

LogicalResult mf::ir::verifyModelFunction(FunctionOpInterface function) {
  if (failed(verifySignature(function)))
    return failure();
  Block &body = function.getFunctionBody().front();
  auto terminator = dyn_cast<ReturnOp>(body.getTerminator());
  if (!terminator)
    return function.emitOpError("expected to end in mf.return");
  if (TypeRange(terminator.getOperandTypes()) !=
      TypeRange(function.getResultTypes())) {
    InFlightDiagnostic error = terminator.emitOpError("returns (")
                               << terminator.getOperandTypes()
                               << "), but the function's results are ("
                               << function.getResultTypes() << ")";
    error.attachNote(function.getLoc()) << "function is here";
    return error;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values that the functions of a chunk take from each other
//===----------------------------------------------------------------------===//

/// Appends the elements of `types` at `indices`, or emits an error at `user`
/// for an index that is out of range.
static LogicalResult appendTypes(FunctionOpInterface user, ArrayAttr indices,
                                 ArrayRef<Type> types, StringRef what,
                                 SmallVectorImpl<Type> &result) {
  for (auto index : indices.getAsRange<IntegerAttr>()) {
    if (index.getInt() >= static_cast<int64_t>(types.size()))
      return user.emitOpError("reads ")
             << what << " " << index.getInt()
             << " of its forward function, which has " << types.size();
    result.push_back(types[index.getInt()]);
  }
  return success();
}

/// Appends the types of the values that `user` takes from its forward function:
/// arguments, outputs and then all residuals.
template <typename FunctionT>
static LogicalResult appendForwardTypes(FunctionT user, ForwardOp forward,
                                        SmallVectorImpl<Type> &result) {
  if (failed(appendTypes(user, user.getForwardArguments(),
                         forward.getArgumentTypes(), "argument", result)) ||
      failed(appendTypes(user, user.getForwardOutputs(),
                         forward.getOutputTypes(), "output", result)))
    return failure();
  llvm::append_range(result, forward.getResidualTypes());
  return success();
}

static LogicalResult verifyTaken(FunctionOpInterface user,
                                 FunctionOpInterface forward,
                                 ArrayRef<Type> expected) {
  if (user.getArgumentTypes() == expected)
    return success();
  InFlightDiagnostic error =
      user.emitOpError("takes (")
      << user.getArgumentTypes()
      << "), but the functions of its placement give it (" << expected << ")";
  error.attachNote(forward.getLoc()) << "forward is here";
  return error;
}

SmallVector<Type> ForwardOp::getGradientTypes() {
  SmallVector<Type> types(getOutputTypes().drop_back(getFuture()));
  if (getFuture() > 0)
    llvm::append_range(types, getPastTypes());
  llvm::append_range(types, getFutureTypes());
  return types;
}

LogicalResult RecomputeOp::verifyAgainst(ForwardOp forward) {
  SmallVector<Type> expected;
  if (failed(appendForwardTypes(*this, forward, expected)))
    return failure();
  return verifyTaken(*this, forward, expected);
}

LogicalResult BackwardOp::verifyAgainst(ForwardOp forward,
                                        RecomputeOp recompute) {
  SmallVector<Type> expected = forward.getGradientTypes();
  if (failed(appendForwardTypes(*this, forward, expected)))
    return failure();
  if (recompute)
    llvm::append_range(expected, recompute.getResultTypes());
  return verifyTaken(*this, forward, expected);
}

LogicalResult BackwardWeightsOp::verifyAgainst(ForwardOp forward,
                                               RecomputeOp recompute,
                                               BackwardOp backward) {
  SmallVector<Type> expected;
  if (failed(appendTypes(*this, getOutputGradients(), forward.getOutputTypes(),
                         "output", expected)) ||
      failed(appendTypes(*this, getForwardArguments(),
                         forward.getArgumentTypes(), "argument", expected)))
    return failure();
  llvm::append_range(expected, forward.getResidualTypes());
  if (recompute)
    llvm::append_range(expected, recompute.getResultTypes());
  llvm::append_range(expected, backward.getKeptTypes());
  if (failed(verifyTaken(*this, forward, expected)))
    return failure();
  for (Attribute name : getGradients())
    if (llvm::is_contained(backward.getGradients(), name))
      return emitOpError("makes the gradient of ")
             << name << ", as does '" << backward.getSymName() << "'";
  return success();
}

//===- MfModelFunctions.cpp - What functions of a model share -------------===//
//
// Syntax and verification of layers, chunks, forward, backward and update
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
  function_interface_impl::printFunctionAttributes(printer, function, elided);
  printer << ' ';
  printer.printRegion(function.getFunctionBody(),
                      /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

/// Functions take and return tensors that have a size, on device or host.
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

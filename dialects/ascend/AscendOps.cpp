//===- AscendOps.cpp - Operations of the ascend dialect -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mf::ascend;

LogicalResult FrameLayoutOp::verify() {
  if (getTypes().size() != getNames().size() ||
      (getOffsets() && getOffsets()->size() != getTypes().size()))
    return emitOpError("expected one name and, once planned, one offset for "
                       "each of its ")
           << getTypes().size() << " slots";
  for (Type type : getTypes().getAsValueRange<TypeAttr>())
    if (!isa<BufferType>(type))
      return emitOpError("expected buffers as slots, but got ") << type;
  return success();
}

LogicalResult StaticOp::verify() {
  std::optional<SliceAttr> slice = getSlice();
  if (!slice)
    return success();
  ArrayRef<int64_t> local = cast<BufferType>(getType()).getTensor().getShape();
  if (local.size() != slice->getShape().size())
    return emitOpError("is a slice of ")
           << slice->getShape().size() << " dimensions, but has "
           << local.size();
  for (auto [index, extent] : llvm::enumerate(local)) {
    int64_t whole = slice->getShape()[index];
    bool isCut = !slice->getAxes()[index].empty();
    if (extent == 0 || whole % extent != 0 || (!isCut && whole != extent))
      return emitOpError("expected an even part of dimension ")
             << index << ", which is " << whole << " long and "
             << (isCut ? "cut" : "not cut") << ", but holds " << extent;
  }
  return success();
}

LogicalResult GlobalOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto buffer =
      symbols.lookupNearestSymbolFrom<StaticOp>(*this, getBufferAttr());
  if (!buffer)
    return emitOpError("expected a static buffer, but got '")
           << getBuffer() << "'";
  if (buffer.getType() != getType()) {
    InFlightDiagnostic error = emitOpError("has type ")
                               << getType() << ", but the buffer is "
                               << buffer.getType();
    error.attachNote(buffer.getLoc()) << "buffer is here";
    return error;
  }
  return success();
}

LogicalResult SlotOp::verify() {
  if (isa<StepOp>((*this)->getParentOp())) {
    if (!getFrame())
      return emitOpError("expected the frame that it is a slot of");
  } else if (!isa<RoutineOp>((*this)->getParentOp())) {
    return emitOpError("expected to stand in a routine or the step");
  } else if (getFrame()) {
    return emitOpError("expected no frame: a routine has that of its run");
  }
  return success();
}

LogicalResult ViewOp::verify() {
  auto source = cast<BufferType>(getSource().getType());
  auto result = cast<BufferType>(getType());
  if (source.getSpace() != result.getSpace())
    return emitOpError("expected a view in ")
           << stringifySpace(source.getSpace()) << ", as its source, but got "
           << stringifySpace(result.getSpace());
  auto begin = static_cast<int64_t>(getByteOffset());
  if (begin < 0 || begin > source.getBytes() ||
      result.getBytes() > source.getBytes() - begin)
    return emitOpError("takes ")
           << result.getBytes() << " bytes from byte " << begin << " of "
           << source << ", which has " << source.getBytes();
  return success();
}

LogicalResult CopyOp::verify() {
  auto source = cast<BufferType>(getSource().getType());
  auto target = cast<BufferType>(getTarget().getType());
  if (source.getBytes() != target.getBytes())
    return emitOpError("expected buffers of one size, but got ")
           << source.getBytes() << " and " << target.getBytes() << " bytes";
  return success();
}

LogicalResult CallOp::verify() {
  ArrayRef<int64_t> records = getRecords().value_or(ArrayRef<int64_t>());
  if (records.size() != getEvents().size())
    return emitOpError("records ") << records.size() << " events, but has "
                                   << getEvents().size() << " results";
  for (auto [index, launches] : llvm::enumerate(records))
    if (launches < 1 || (index > 0 && launches <= records[index - 1]))
      return emitOpError("expected rising numbers of launches in records, but "
                         "got ")
             << launches;
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto routine =
      symbols.lookupNearestSymbolFrom<RoutineOp>(*this, getRoutineAttr());
  if (!routine)
    return emitOpError("expected a routine, but got '") << getRoutine() << "'";
  if (TypeRange(getArguments()) != TypeRange(routine.getArgumentTypes())) {
    InFlightDiagnostic error = emitOpError("passes (")
                               << getArguments().getTypes()
                               << "), but the routine takes ("
                               << routine.getArgumentTypes() << ")";
    error.attachNote(routine.getLoc()) << "routine is here";
    return error;
  }
  FlatSymbolRefAttr passed =
      getFrame() ? cast<FrameType>(getFrame().getType()).getLayout()
                 : FlatSymbolRefAttr();
  if (passed != routine.getLayoutAttr())
    return emitOpError("expected ")
           << (routine.getLayout() ? "a frame of '" + *routine.getLayout() + "'"
                                   : "no frame");
  return success();
}

/// Parses like function_interface_impl::parseFunctionOp, which does not accept
/// an empty body.
ParseResult RoutineOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttributes;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes,
          resultAttributes))
    return failure();
  auto argumentTypes = llvm::map_to_vector(
      arguments, [](auto &argument) { return argument.type; });
  result.addAttribute(
      getFunctionTypeAttrName(result.name),
      TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)));
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, resultAttributes,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  mlir::Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void RoutineOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

/// Parses the offset of a frame with one part, or the list of offsets of
/// several parts.
static ParseResult parseOffsets(OpAsmParser &parser,
                                DenseI64ArrayAttr &offsets) {
  SmallVector<int64_t> values;
  auto parse = [&] { return parser.parseInteger(values.emplace_back()); };
  if (succeeded(parser.parseOptionalLSquare())) {
    // An empty list may be printed too, for a frame without parts.
    if (failed(parser.parseOptionalRSquare()) &&
        (parser.parseCommaSeparatedList(parse) || parser.parseRSquare()))
      return failure();
  } else if (parse()) {
    return failure();
  }
  offsets = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

static void printOffsets(OpAsmPrinter &printer, Operation *,
                         DenseI64ArrayAttr offsets) {
  if (offsets.size() == 1) {
    printer << offsets[0];
    return;
  }
  printer << '[';
  llvm::interleaveComma(offsets.asArrayRef(), printer);
  printer << ']';
}

// clang-tidy does not check what tablegen writes.
#ifndef MF_TIDY
#define GET_OP_CLASSES
#include "dialects/ascend/AscendOps.cpp.inc"
#endif

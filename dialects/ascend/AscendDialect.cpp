//===- AscendDialect.cpp - The ascend dialect, its types and attributes ---===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/Format.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf::ascend;

#include "dialects/ascend/AscendDialect.cpp.inc"
#include "dialects/ascend/AscendEnums.cpp.inc"

#include "dialects/ascend/AscendInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/ascend/AscendAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/ascend/AscendTypes.cpp.inc"

void AscendDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/ascend/AscendAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/ascend/AscendTypes.cpp.inc"
      >();
// clang-tidy does not check what addOperations makes of operations.
#ifndef MF_TIDY
  addOperations<
#define GET_OP_LIST
#include "dialects/ascend/AscendOps.cpp.inc"
      >();
#endif
  mf::ir::addBytecodeVersion(*this);
}

int64_t BufferType::getBytes() const {
  RankedTensorType tensor = getTensor();
  if (tensor.getElementType().isInteger(1))
    return mf::getBytes(DType::I1, tensor.getNumElements());
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  StringRef keyword;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<Space> space = symbolizeSpace(keyword);
  if (!space) {
    parser.emitError(location, "expected hbm or host");
    return {};
  }
  if (parser.parseGreater())
    return {};
  if (!elementType.isIntOrFloat()) {
    parser.emitError(location, "expected integer or float elements, but got ")
        << elementType;
    return {};
  }
  return parser.getChecked<BufferType>(
      location, parser.getContext(), RankedTensorType::get(shape, elementType),
      *space);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getTensor().getShape())
    printer << extent << 'x';
  printer << getTensor().getElementType() << ", " << stringifySpace(getSpace())
          << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 RankedTensorType tensor, Space space) {
  if (!tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return emitError() << "expected integer or float elements of static shape, "
                          "but got "
                       << tensor;
  // This is more than any device has, and small enough that sums of sizes do
  // not overflow.
  constexpr int64_t maximum = int64_t(1) << 48;
  int64_t bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  if (!llvm::is_contained(tensor.getShape(), 0))
    for (int64_t extent : tensor.getShape())
      if (llvm::MulOverflow(bytes, extent, bytes) || bytes > maximum)
        return emitError() << "a buffer of " << tensor
                           << " is too large; expected at most 2^48 bytes";
  return success();
}

//===- AscendDialect.h - The ascend dialect --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect of the lowered step with its types, attributes and operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_ASCEND_ASCENDDIALECT_H
#define MF_DIALECTS_ASCEND_ASCENDDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mf/Program/Signatures/Collective.h"
#include "mf/Program/Signatures/KernelSignature.h"

#include "dialects/ascend/AscendDialect.h.inc"
#include "dialects/ascend/AscendEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/ascend/AscendAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/ascend/AscendTypes.h.inc"

namespace mf::ascend {

/// The work that an instruction puts on its stream.
enum class WorkKind { None, Kernel, Copy, Exchange };

/// A buffer that an instruction uses, and how it uses it.
struct BufferAccess {
  mlir::Value buffer;
  Access access = Access::In;
};

/// The cost of an instruction.
struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;
};

class InstructionOpInterface;

/// Returns a cost of no operations and the bytes of all accesses.
Cost getAccessCost(InstructionOpInterface op);

/// Convert between enums of the dialect and those of tables.
mf::CollectiveKind getTableKind(CollectiveKind kind);
mf::Reduction getTableReduction(Reduction reduction);
CollectiveKind getDialectKind(mf::CollectiveKind kind);
Reduction getDialectReduction(mf::Reduction reduction);

/// The exchange of an instruction with other ranks: its part in a collective
/// over `group`, or one side of a transfer to or from `peer`.
struct ExchangeRecord {
  /// Null for a transfer.
  GroupAttr group;
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  /// The other side of a transfer. Null for a collective.
  PeerAttr peer;
  bool isSend = false;
  mlir::StringAttr channel;
  /// The elements of a row of an all_to_all_v. 0 for other exchanges.
  int64_t rowElements = 0;
  double fill = 0;
};

} // namespace mf::ascend

#include "dialects/ascend/AscendInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/ascend/AscendOps.h.inc"

namespace mf::ascend {

/// Updates the launches after which a call records its events, when launches of
/// its routine were added or removed. A call names them by their numbers, which
/// start at 1; `numbers` has the new number for each old one, and 0 for 0.
/// Events that get the same number become one, and the call a new operation.
void renumberRecords(CallOp call, llvm::ArrayRef<int64_t> numbers);

} // namespace mf::ascend

#endif // MF_DIALECTS_ASCEND_ASCENDDIALECT_H

//===- AscendInterfaces.td - Interfaces of programs --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ASCEND_INTERFACES_TD
#define ASCEND_INTERFACES_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ascend_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::mf::ascend";
  let description = [{
    An instruction that the host issues to a stream. A call is no instruction, since
    it stands for those of its routine. Decoding reads instructions by this interface
    into a program::Program (mf/Program/Program.h), on which planning, verification,
    execution and simulation work.
  }];
  let methods = [
    InterfaceMethod<"The kind of work of the stream.",
      "::mf::ascend::WorkKind", "getWork">,
    InterfaceMethod<"The operator of the model that it belongs to, or empty.",
      "::llvm::StringRef", "getCellName", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"The stream; null is the compute stream.",
      "::mlir::FlatSymbolRefAttr", "getIssueStream", (ins), [{}], [{
      return $_op.getStreamAttr();
    }]>,
    InterfaceMethod<"The events that the stream waits for before the work.",
      "::mlir::ValueRange", "getAwaitedEvents", (ins), [{}], [{
      return $_op.getAfter();
    }]>,
    InterfaceMethod<"The event that the stream records after the work, or null.",
      "::mlir::Value", "getRecordedEvent", (ins), [{}], [{
      return $_op.getDone();
    }]>,
    InterfaceMethod<"The memory that it reads and writes, in a fixed order.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::mf::ascend::BufferAccess> &":$accesses),
      [{}], [{ return; }]>,
    InterfaceMethod<[{
      The exchange with other ranks, or none if the instruction stays on its device.
    }], "::std::optional<::mf::ascend::ExchangeRecord>", "getExchange", (ins), [{}],
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
      The number of floating-point operations, and of bytes that the instruction
      reads and writes in memory.
    }], "::mf::ascend::Cost", "getCost", (ins), [{}], [{
      return ::mf::ascend::getAccessCost($_op);
    }]>,
    InterfaceMethod<"The engine of the device that executes the instruction.",
      "::mf::Engine", "getEngine", (ins), [{}], [{
      return ::mf::Engine::Copy;
    }]>
  ];
}

// An instruction has the effects on memory that its accesses say, and one on the
// streams of the device.
class Ascend_InstructionWith<list<string> answers> : TraitList<[
    DeclareOpInterfaceMethods<Ascend_InstructionOpInterface, answers>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

#endif // ASCEND_INTERFACES_TD

//===- AscendInterfaces.td - Interfaces of programs --------*- tablegen -*-===//

#ifndef ASCEND_INTERFACES_TD
#define ASCEND_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Ascend_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::mf::ascend";
  let description = [{
    One thing that the host issues to a stream: what planning, verification,
    execution and simulation ask of it. All but calls, which stand for the
    instructions of their routine. Decoding turns the answers into one table
    (mf/Program/Program.h).
  }];
  let methods = [
    InterfaceMethod<"What the stream is given to do.",
      "::mf::ascend::WorkKind", "getWork">,
    InterfaceMethod<"The operator of the model that it belongs to, or empty.",
      "::llvm::StringRef", "getCellName", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"The stream; null is the compute stream.",
      "::mlir::FlatSymbolRefAttr", "getIssueStream", (ins), [{}], [{
      return $_op.getStreamAttr();
    }]>,
    InterfaceMethod<"The events that the stream waits for before.",
      "::mlir::ValueRange", "getAwaitedEvents", (ins), [{}], [{
      return $_op.getAfter();
    }]>,
    InterfaceMethod<"The event that is recorded behind it, or null.",
      "::mlir::Value", "getRecordedEvent", (ins), [{}], [{
      return $_op.getDone();
    }]>,
    InterfaceMethod<"The memory that it reads and writes, in a fixed order.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::mf::ascend::BufferAccess> &":$accesses),
      [{}], [{ return; }]>,
    InterfaceMethod<[{
      What it exchanges with other ranks; none for what stays on its device.
    }], "::std::optional<::mf::ascend::ExchangeRecord>", "getExchange", (ins), [{}],
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
      What it costs: floating-point operations, and bytes that it reads and
      writes in memory.
    }], "::mf::ascend::Cost", "getCost", (ins), [{}], [{
      return ::mf::ascend::getAccessCost($_op);
    }]>,
    InterfaceMethod<"The engine that works.",
      "::mf::Engine", "getEngine", (ins), [{}], [{
      return ::mf::Engine::Copy;
    }]>
  ];
}

class Ascend_InstructionWith<list<string> answers>
    : DeclareOpInterfaceMethods<Ascend_InstructionOpInterface, answers>;

#endif // ASCEND_INTERFACES_TD

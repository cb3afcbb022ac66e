//===- PrintMemory.cpp - What a planned program spends memory on ----------===//

#include "dialects/mf/CellName.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

namespace mf::passes {
#define GEN_PASS_DEF_PRINTMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;

namespace {

void printRow(raw_ostream &os, unsigned indent, StringRef name, int64_t bytes) {
  os.indent(indent) << left_justify(name, 24 - indent)
                    << llvm::format("%16lld\n", static_cast<long long>(bytes));
}

/// Elements that a rank stores of the parameters; a tied one is another's.
int64_t countParameters(ascend::ProgramOp program) {
  int64_t elements = 0;
  for (auto buffer : program.getBody().getOps<ascend::StaticOp>())
    if (buffer.getRole() == ascend::Role::Parameter && !buffer.getTied())
      elements += cast<ascend::BufferType>(buffer.getType())
                      .getTensor()
                      .getNumElements();
  return elements;
}

void printStatics(ascend::ProgramOp program, raw_ostream &os) {
  llvm::MapVector<ascend::Role, int64_t> roles;
  for (auto buffer : program.getBody().getOps<ascend::StaticOp>()) {
    auto type = cast<ascend::BufferType>(buffer.getType());
    if (type.getSpace() == ascend::Space::Hbm)
      roles[buffer.getRole()] += type.getBytes();
  }
  for (auto [role, bytes] : roles)
    printRow(os, 2, ascend::stringifyRole(role), bytes);
}

/// The slots of a layout that are in `space`, layer by layer; nothing if there
/// are none.
void printSlots(ascend::FrameLayoutOp layout, ascend::Space space,
                StringRef what, raw_ostream &os) {
  llvm::MapVector<StringRef, int64_t> layers;
  int64_t total = 0;
  for (auto [slot, name] :
       llvm::zip(layout.getTypes().getAsValueRange<TypeAttr>(),
                 layout.getNames().getAsValueRange<StringAttr>())) {
    auto type = cast<ascend::BufferType>(slot);
    if (type.getSpace() != space)
      continue;
    layers[ir::getLayerOfCell(name)] += type.getBytes();
    total += type.getBytes();
  }
  if (layers.empty())
    return;
  os << "  " << layout.getSymName() << what << " of one micro-batch\n";
  for (auto &[layer, bytes] : layers)
    printRow(os, 4, layer, bytes);
  printRow(os, 4, "total", total);
}

LogicalResult printProgram(ascend::ProgramOp program, raw_ostream &os) {
  if (!program.getArenaBytes() || !program.getMaxLiveBytes())
    return program.emitOpError("has no memory plan; run ascend-plan-memory "
                               "first");
  os << "stage " << program.getStage() << ": arena " << *program.getArenaBytes()
     << " bytes, max-live " << *program.getMaxLiveBytes()
     << " bytes, pinned host " << program.getHostBytes().value_or(0)
     << " bytes, parameters per rank " << countParameters(program) << "\n";
  printStatics(program, os);
  for (auto layout : program.getBody().getOps<ascend::FrameLayoutOp>()) {
    printSlots(layout, ascend::Space::Hbm, "", os);
    printSlots(layout, ascend::Space::Host, " swapped out", os);
  }
  return success();
}

// A pass on the module, because passes on programs print in any order.
struct PrintMemoryPass : mf::passes::impl::PrintMemoryBase<PrintMemoryPass> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ascend::ProgramOp>())
      if (failed(printProgram(program, llvm::errs())))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

//===- Table.cpp ---===//

#include "mf/Timeline/Writers.h"

namespace mf::timeline {

void printTable(const StepTimeline &timeline, llvm::raw_ostream &os) {}

} // namespace mf::timeline

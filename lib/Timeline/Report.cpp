//===- Report.cpp ---===//

#include "mf/Timeline/Writers.h"

namespace mf::timeline {

void writeReportMembers(const StepTimeline &timeline,
                        llvm::json::OStream &json) {}
llvm::Error writeReport(llvm::StringRef path, const StepTimeline &timeline) {
  return llvm::Error::success();
}

} // namespace mf::timeline

//===- Comparison.cpp ---===//

#include "mf/Timeline/Writers.h"

namespace mf::timeline {

llvm::Error compareWithReport(const StepTimeline &timeline,
                              llvm::StringRef reportPath,
                              llvm::raw_ostream &os) {
  return llvm::Error::success();
}

} // namespace mf::timeline

//===- Page.cpp ---===//

#include "mf/Timeline/Writers.h"

namespace mf::timeline {

llvm::Error writePage(llvm::StringRef path, const StepTimeline &timeline) {
  return llvm::Error::success();
}

} // namespace mf::timeline

//===- Profile.cpp ---===//

#include "mf/Timeline/Writers.h"

namespace mf::timeline {

llvm::Error writeProfile(llvm::StringRef folder, const StepTimeline &timeline) {
  return llvm::Error::success();
}

} // namespace mf::timeline

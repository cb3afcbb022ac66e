//===- ActivityText.h - JSON of an activity for traces ----------*- C++ -*-===//

#ifndef MF_LIB_TIMELINE_ACTIVITYTEXT_H
#define MF_LIB_TIMELINE_ACTIVITYTEXT_H

#include "Clock.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::timeline {

/// JSON that all spans of an activity share: it is made once.
struct ActivityText {
  std::string name;
  /// Members of an object that tell where the activity belongs.
  std::string brief;
  /// Members with its inputs and outputs.
  std::string details;
};

ActivityText makeText(const Activity &activity);

/// A member with the rate that a span reaches: of FLOPs on the cube, else of
/// bytes. Empty if there is none. It is kept in `storage`.
llvm::StringRef makeRate(const Activity &activity, Nanoseconds duration,
                         llvm::SmallVectorImpl<char> &storage);

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_ACTIVITYTEXT_H

//===- ActivityText.h - JSON of an activity for traces ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_ACTIVITYTEXT_H
#define MF_LIB_PERF_TIMELINE_ACTIVITYTEXT_H

#include "Clock.h"
#include "llvm/ADT/SmallVector.h"

namespace mf::timeline {

/// The JSON that all spans of an activity share, which is made once.
struct ActivityText {
  std::string name;
  /// Members of an object that identify the activity's place in the model.
  std::string brief;
  /// Members with its inputs and outputs.
  std::string details;
};

ActivityText makeText(const Activity &activity);

/// Returns a member with the rate of a span: of FLOPs on the cube, and
/// otherwise of bytes. Empty if there is none. The text is stored in `storage`.
llvm::StringRef makeRate(const Activity &activity, Nanoseconds duration,
                         llvm::SmallVectorImpl<char> &storage);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_ACTIVITYTEXT_H

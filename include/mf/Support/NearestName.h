//===- NearestName.h - The closest known name, for messages -----*- C++ -*-===//

#ifndef MF_LIB_DATA_NEARESTNAME_H
#define MF_LIB_DATA_NEARESTNAME_H

#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <string>

namespace mf {

/// "; did you mean 'NAME'?" with the first of the nearest of `names`, or
/// nothing if none comes close.
template <typename Range>
std::string suggestName(llvm::StringRef wanted, Range &&names) {
  // More than a third of the name mistyped is another name.
  unsigned best = std::max<unsigned>(1, wanted.size() / 3) + 1;
  std::string suggestion;
  for (llvm::StringRef name : names) {
    const unsigned distance =
        wanted.edit_distance(name, /*AllowReplacements=*/true, best);
    if (distance >= best)
      continue;
    best = distance;
    suggestion = ("; did you mean '" + name + "'?").str();
  }
  return suggestion;
}

} // namespace mf

#endif // MF_LIB_DATA_NEARESTNAME_H

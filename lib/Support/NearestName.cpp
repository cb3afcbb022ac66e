//===- NearestName.cpp - The closest known name, for messages -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace mf {

StringRef findNearestName(StringRef wanted, ArrayRef<StringRef> names) {
  // Longer names have no nearest one, because the distance takes time in
  // proportion to the product of both lengths.
  constexpr size_t longest = 200;
  if (wanted.size() > longest)
    return {};
  StringRef nearest;
  unsigned smallest = ~0U;
  for (StringRef name : names) {
    const size_t longer = std::max(wanted.size(), name.size());
    const auto most = static_cast<unsigned>(std::max<size_t>(1, longer / 3));
    const unsigned distance =
        wanted.edit_distance(name, /*AllowReplacements=*/true, most);
    if (distance > most || distance >= smallest)
      continue;
    smallest = distance;
    nearest = name;
  }
  return nearest;
}

std::string suggestName(StringRef wanted, ArrayRef<StringRef> names) {
  const StringRef nearest = findNearestName(wanted, names);
  return nearest.empty() ? std::string()
                         : ("; did you mean '" + nearest + "'?").str();
}

std::string suggestOrListNames(StringRef wanted, ArrayRef<StringRef> names) {
  std::string suggestion = suggestName(wanted, names);
  if (suggestion.empty() && !names.empty())
    suggestion = "; known are " + join(names, ", ");
  return suggestion;
}

} // namespace mf

//===- NearestName.h - The closest known name, for messages -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_NEARESTNAME_H
#define MF_SUPPORT_NEARESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mf {

/// Returns the name with the smallest edit distance to `wanted`, the first of
/// several, or an empty name if more than one character and more than a third
/// of the longer name would have to change.
llvm::StringRef findNearestName(llvm::StringRef wanted,
                                llvm::ArrayRef<llvm::StringRef> names);

/// Returns "; did you mean 'NAME'?" with the nearest name, or nothing if none
/// is near.
std::string suggestName(llvm::StringRef wanted,
                        llvm::ArrayRef<llvm::StringRef> names);

/// Returns the same, or "; known are A, B" if none is near. It is meant for
/// short lists of names.
std::string suggestOrListNames(llvm::StringRef wanted,
                               llvm::ArrayRef<llvm::StringRef> names);

/// Returns the text of the first suggestName for any range of strings.
template <typename Range>
std::string suggestName(llvm::StringRef wanted, Range &&names) {
  llvm::SmallVector<llvm::StringRef> list;
  for (llvm::StringRef name : names)
    list.push_back(name);
  return suggestName(wanted, llvm::ArrayRef<llvm::StringRef>(list));
}

} // namespace mf

#endif // MF_SUPPORT_NEARESTNAME_H

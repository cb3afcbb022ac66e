//===- NumberPlaces.h - Places of numbers in a target's file ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TARGET_NUMBERPLACES_H
#define MF_LIB_PERF_TARGET_NUMBERPLACES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mf::target {

/// The offsets of numbers in the text of a target's file, by path.
struct NumberPlaces {
  struct Span {
    size_t begin = 0, end = 0;
  };
  /// For each key, the text after `key =` up to its end.
  llvm::StringMap<Span> values;
  /// For each entry, the offset behind its last value, where another one can
  /// follow. The device itself is "".
  llvm::StringMap<size_t> ends;
};

/// Finds the places in `#ascend.device<...>`, whose comments must be blanked.
/// Parts that are attributes defined elsewhere have a value, but no places
/// inside of it.
NumberPlaces findNumberPlaces(llvm::StringRef text);

} // namespace mf::target

#endif // MF_LIB_PERF_TARGET_NUMBERPLACES_H

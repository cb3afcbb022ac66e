//===- NumberPlaces.h - Where numbers are in a target's file --*- C++ -*-===//

#ifndef MF_LIB_TARGET_NUMBERPLACES_H
#define MF_LIB_TARGET_NUMBERPLACES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mf::target {

/// Offsets in the text of a target's file, by path.
struct NumberPlaces {
  struct Span {
    size_t begin = 0, end = 0;
  };
  /// What stands behind `key =`, up to its end.
  llvm::StringMap<Span> values;
  /// The end of an entry's last value: where another can follow. The device
  /// itself is "".
  llvm::StringMap<size_t> ends;
};

/// Finds them in `#ascend.device<...>`, whose comments must be blank. Of parts
/// that are attributes elsewhere there is the value, and nothing inside.
NumberPlaces findNumberPlaces(llvm::StringRef text);

} // namespace mf::target

#endif // MF_LIB_TARGET_NUMBERPLACES_H

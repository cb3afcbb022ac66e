//===- TargetText.h - Before a target's file is parsed --------*- C++ -*-===//
//
// MLIR looks for the end of an attribute before it parses it, and takes
// brackets and quotes in comments for its own. People write comments as they
// like.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_TARGET_TARGETTEXT_H
#define MF_LIB_TARGET_TARGETTEXT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mf::target {

/// The text with blanks for its comments: all else stays in its place.
std::string blankComments(llvm::StringRef text);

/// A bracket that is not closed, or closes nothing.
struct UnbalancedBracket {
  size_t offset = 0;
  /// "'{' is not closed".
  std::string message;
};

/// The first in a text without comments that is closed by another kind or
/// closes nothing; else the innermost that the text ends in.
std::optional<UnbalancedBracket> findUnbalancedBracket(llvm::StringRef text);

} // namespace mf::target

#endif // MF_LIB_TARGET_TARGETTEXT_H

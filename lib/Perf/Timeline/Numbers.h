//===- Numbers.h - Numbers in JSON ----------------------------*- C++ -*-===//

#ifndef MF_LIB_TIMELINE_NUMBERS_H
#define MF_LIB_TIMELINE_NUMBERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace mf::timeline {

/// The fewest digits that read back to the same number; null where it is not
/// finite.
std::string formatNumber(double value);

/// Adds a member to an open object.
void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value);

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_NUMBERS_H

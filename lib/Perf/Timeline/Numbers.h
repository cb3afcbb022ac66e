//===- Numbers.h - Numbers in JSON ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_NUMBERS_H
#define MF_LIB_PERF_TIMELINE_NUMBERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace mf::timeline {

/// Returns formatExact, or "null" for numbers that are not finite, which JSON
/// cannot represent.
std::string formatJsonNumber(double value);

/// Adds a member to an open object.
void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_NUMBERS_H

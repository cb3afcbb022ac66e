//===- CsvText.h - Fields of comma-separated values -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_CSVTEXT_H
#define MF_LIB_PERF_TIMELINE_CSVTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::timeline {

/// Prints a field, in quotes if it contains a comma, a quote or a line end.
inline void printCsvText(llvm::raw_ostream &os, llvm::StringRef text) {
  if (text.find_first_of(",\"\r\n") == llvm::StringRef::npos) {
    os << text;
    return;
  }
  os << '"';
  for (char letter : text) {
    if (letter == '"')
      os << '"';
    os << letter;
  }
  os << '"';
}

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_CSVTEXT_H

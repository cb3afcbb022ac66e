//===- HtmlPage.h - Self-contained HTML pages -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Pages are composed from the files of lib/Perf/Timeline/page, which are
// embedded in the library. They need no other file and no network.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TIMELINE_HTMLPAGE_H
#define MF_PERF_TIMELINE_HTMLPAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mf::timeline {

/// The names of the files of which a page consists. Styles and scripts are in
/// the order in which they apply and run.
struct PageParts {
  llvm::StringRef title;
  llvm::StringRef body;
  llvm::ArrayRef<llvm::StringLiteral> styles;
  llvm::ArrayRef<llvm::StringLiteral> scripts;
};

/// Composes a page. Its scripts find `json` in the element `data`.
std::string makePage(const PageParts &parts, llvm::StringRef json);

} // namespace mf::timeline

#endif // MF_PERF_TIMELINE_HTMLPAGE_H

//===- HtmlPage.cpp - Self-contained HTML pages ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Timeline/HtmlPage.h"
#include "PageFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace mf::timeline {

/// Escapes `<`, which would end the script. JSON has it only within strings.
static std::string escapeForScript(StringRef text) {
  std::string escaped;
  for (char c : text)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

static std::string joinPageFiles(ArrayRef<StringLiteral> names) {
  std::string text;
  for (StringRef name : names)
    text += getPageFile(name);
  return text;
}

/// Returns the text that replaces a mark of page.html.
static std::string getContent(StringRef mark, const PageParts &parts,
                              StringRef json) {
  if (mark == "TITLE")
    return parts.title.str();
  if (mark == "STYLE")
    return joinPageFiles(parts.styles);
  if (mark == "BODY")
    return getPageFile(parts.body).str();
  if (mark == "DATA")
    return escapeForScript(json);
  if (mark == "SCRIPTS")
    return joinPageFiles(parts.scripts);
  llvm_unreachable("page.html has no other marks");
}

std::string makePage(const PageParts &parts, StringRef json) {
  std::string page;
  StringRef rest = getPageFile("page.html");
  while (!rest.empty()) {
    const auto [before, after] = rest.split("@@");
    page += before;
    const auto [mark, behind] = after.split("@@");
    if (!mark.empty())
      page += getContent(mark, parts, json);
    rest = behind;
  }
  return page;
}

} // namespace mf::timeline

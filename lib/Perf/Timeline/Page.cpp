//===- Page.cpp - A step in time as a page --------------------------------===//

#include "PageData.h"
#include "PageFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace mf::timeline {

namespace {

/// The page's scripts, in the order in which they run.
constexpr StringLiteral scripts[] = {"data.js",    "format.js",   "drawing.js",
                                     "lanes.js",   "timeline.js", "memory.js",
                                     "summary.js", "main.js"};

/// JSON has `<` within strings alone, where nothing may end the script.
std::string escapeForScript(StringRef text) {
  std::string escaped;
  for (char c : text)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

/// The text that replaces a mark of page.html.
std::string getContent(StringRef mark, const StepTimeline &timeline) {
  if (mark == "STYLE")
    return getPageFile("page.css").str();
  if (mark == "DATA")
    return escapeForScript(makePageData(timeline));
  if (mark == "SCRIPTS") {
    std::string text;
    for (StringRef script : scripts)
      text += getPageFile(script);
    return text;
  }
  llvm_unreachable("page.html has no other marks");
}

} // namespace

Error writePage(StringRef path, const StepTimeline &timeline) {
  std::string page;
  StringRef rest = getPageFile("page.html");
  while (!rest.empty()) {
    const auto [before, after] = rest.split("@@");
    page += before;
    const auto [mark, behind] = after.split("@@");
    if (!mark.empty())
      page += getContent(mark, timeline);
    rest = behind;
  }
  return writeFileAtomically(path, page);
}

} // namespace mf::timeline

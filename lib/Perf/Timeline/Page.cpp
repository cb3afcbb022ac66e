//===- Page.cpp - A step in time as a page --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PageData.h"
#include "mf/Perf/Timeline/HtmlPage.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"

using namespace llvm;

namespace mf::timeline {

static constexpr StringLiteral stepStyles[] = {"page.css"};
static constexpr StringLiteral stepScripts[] = {
    "data.js",     "format.js", "drawing.js", "lanes.js",
    "timeline.js", "memory.js", "summary.js", "main.js"};

Error writePage(StringRef path, const StepTimeline &timeline) {
  return writeFileAtomically(path,
                             makePage({"A training step in time", "step.html",
                                       stepStyles, stepScripts},
                                      makePageData(timeline)));
}

} // namespace mf::timeline

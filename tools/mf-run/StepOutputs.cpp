//===- StepOutputs.cpp - Timelines that mf-run writes ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepOutputs.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"

using llvm::Error;

namespace mf::tools {

Error checkStepFiles(const Options &options, const program::Mesh &mesh) {
  if (!options.traceRanks.empty() && options.trace.empty())
    return llvm::createStringError("--trace-ranks needs --trace");
  // Paths are checked before a step runs, not after it.
  for (const auto *path : {&options.trace, &options.html})
    if (!path->empty())
      if (auto file = AtomicFile::create(*path); !file)
        return file.takeError();
  if (!options.profile.empty())
    if (Error error = timeline::checkProfileFolder(options.profile))
      return error;
  return timeline::checkTraceRanks(
      mesh, std::vector<int64_t>(options.traceRanks.begin(),
                                 options.traceRanks.end()));
}

Error writeStepFiles(const Options &options,
                     const timeline::StepTimeline &timeline,
                     const program::Mesh &mesh) {
  if (!options.trace.empty())
    if (Error error = timeline::writeTrace(
            options.trace, timeline, mesh,
            std::vector<int64_t>(options.traceRanks.begin(),
                                 options.traceRanks.end())))
      return error;
  if (!options.profile.empty())
    if (Error error = timeline::writeProfile(options.profile, timeline))
      return error;
  if (options.html.empty())
    return Error::success();
  timeline::StepTimeline named = timeline;
  named.program = options.getTitle();
  return timeline::writePage(options.html, named);
}

Error writeStep(const Options &options, const timeline::StepTimeline &timeline,
                const program::Mesh &mesh, llvm::raw_ostream &os,
                const timeline::ReportedLosses &losses) {
  if (Error error = writeStepFiles(options, timeline, mesh))
    return error;
  if (!options.quiet)
    timeline::printTable(timeline, os);
  return options.compare.empty() ? Error::success()
                                 : timeline::compareWithReport(
                                       timeline, options.compare, os, losses);
}

} // namespace mf::tools

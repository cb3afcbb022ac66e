//===- mf-schedule.cpp - Shows pipeline schedules as timelines ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleCommand.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/InitLLVM.h"

static const char overview[] =
    "mf-schedule: shows pipeline schedules in time\n\n"
    "Prints what each stage runs when, how long a step takes, the bubble "
    "(idle time in the\ntime of the model's work) and how many chunks' "
    "activations each stage holds at most.\n";

int mf::tools::mfScheduleMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mf::tools::ScheduleOptions options;
  mf::tools::setUpHelp({&options.category},
                       mf::tools::getScheduleHelp("mf-schedule"));
  llvm::cl::ParseCommandLineOptions(argc, argv, overview);
  return mf::tools::showSchedule(options);
}

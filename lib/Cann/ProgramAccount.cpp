//===- ProgramAccount.cpp - Resources that a program needs ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Cann/EmitProgram.h"
#include "mf/Cann/Needs/CannNeeds.h"
#include "mf/Program/StepWalker.h"
#include <map>

using namespace mf::program;

namespace mf::cann {

namespace {

/// The work that a rank of a stage does in one step.
struct StepAccount {
  int64_t launches = 0;
  /// The number of calls of aclnn functions in the text of all launched
  /// kernels. A call inside a loop counts once, since the number of iterations
  /// depends on the shapes.
  int64_t functions = 0;
  int64_t copies = 0, exchanges = 0, records = 0, waits = 0;
  /// The number of launches of each kernel that CANN has no counterpart of, by
  /// the kernel's name.
  std::map<std::string, int64_t> missing;
};

} // namespace

/// AscendCL's limits for a device, which all processes on it share.
static constexpr int64_t streamsOfDevice = 1984, eventsOfDevice = 65536;

/// Adds an account to another one.
static void add(const StepAccount &from, StepAccount &to) {
  to.launches += from.launches;
  to.functions += from.functions;
  to.copies += from.copies;
  to.exchanges += from.exchanges;
  to.records += from.records;
  to.waits += from.waits;
  for (const auto &[kernel, launches] : from.missing)
    to.missing[kernel] += launches;
}

static void addLaunch(const KernelSpec &spec, StepAccount &account) {
  ++account.launches;
  const CannNeeds needs = getCannNeeds(spec);
  account.functions += needs.functions;
  if (!needs.isOnCann)
    ++account.missing[spec.name];
}

/// Counts the instructions of a list. `routines` has the accounts of the
/// stage's routines, which are added for each call; it is empty for a routine's
/// own list.
static StepAccount countList(const Program &program,
                             const InstructionList &list,
                             const std::vector<StepAccount> &routines) {
  StepAccount account;
  for (const Instruction &instruction : list.instructions) {
    account.waits += static_cast<int64_t>(instruction.awaited.size());
    account.records += instruction.recorded ? 1 : 0;
    if (instruction.work == Work::Kernel)
      addLaunch(program.kernels[instruction.index].spec, account);
    account.copies += instruction.work == Work::Copy;
    account.exchanges += instruction.work == Work::Exchange;
    if (const Call *call = list.getCall(instruction)) {
      account.records += static_cast<int64_t>(call->records.size());
      if (call->routine < routines.size())
        add(routines[call->routine], account);
    }
  }
  return account;
}

/// Counts the step of a stage, including the routines that it calls.
static StepAccount countStep(const Program &program,
                             const StageProgram &stage) {
  std::vector<StepAccount> routines;
  for (const Routine &routine : stage.routines)
    routines.push_back(countList(program, routine.body, {}));
  return countList(program, stage.step, routines);
}

void printAccount(const Program &program, llvm::raw_ostream &os) {
  for (const StageProgram &stage : program.stages) {
    const StepAccount account = countStep(program, stage);
    const InstanceTable table(stage);
    os << "stage " << stage.stage << ": arena " << stage.arenaBytes
       << " bytes, pinned host " << stage.hostBytes << " bytes, "
       << stage.streams.size() << " of " << streamsOfDevice << " streams, "
       << table.getNumEvents() << " of " << eventsOfDevice << " events\n"
       << "  a step: " << account.launches << " launches, " << account.functions
       << " functions of aclnn, " << account.copies << " copies, "
       << account.exchanges << " exchanges, " << account.records
       << " events recorded, " << account.waits << " waits\n";
    for (const auto &[kernel, launches] : account.missing)
      os << "  CANN has no counterpart of " << kernel << ": " << launches
         << " launches\n";
  }
}

} // namespace mf::cann

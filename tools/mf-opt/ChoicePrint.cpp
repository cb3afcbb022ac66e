//===- ChoicePrint.cpp - Prints the costs of choices ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChoicePrint.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Support/TextTable.h"
#include "llvm/Support/WithColor.h"

using namespace mf::planner;
using llvm::errs;
using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

static void printTable(const ChoiceCosts &costs) {
  TextTable table({"choice", "given", "instead", "fullest stage", "peak, bytes",
                   "costs, bytes"});
  for (const ChoiceCost &cost : costs.costs)
    if (cost.peak)
      table.addRow({cost.choice.name, cost.choice.given, cost.choice.instead,
                    std::to_string(cost.peak->stage),
                    std::to_string(cost.peak->bytes),
                    std::to_string(costs.given.bytes - cost.peak->bytes)});
  table.print(errs());
}

void printChoices(const CompilerInput &input, StringRef yaml) {
  Expected<ChoiceCosts> found = measureChoices(input, yaml);
  if (!found) {
    llvm::WithColor::note() << "what choices cost cannot be measured: "
                            << toString(found.takeError()) << '\n';
    return;
  }
  errs() << "stage " << found->given.stage << " needs most, "
         << describeMemorySize(found->given.bytes)
         << "; with each choice made otherwise alone:\n";
  printTable(*found);
  for (const HeldBytes &held : found->held)
    errs() << "of it, " << held.name << ": " << describeMemorySize(held.bytes)
           << '\n';
  for (const ChoiceCost &cost : found->costs)
    if (!cost.peak)
      errs() << cost.choice.name << ' ' << cost.choice.instead
             << " does not compile: " << cost.problem << '\n';
}

} // namespace mf::tools

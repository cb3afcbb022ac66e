//===- mf-compare.cpp - Finds the first operator that is wrong ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TensorComparison.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include <cmath>

namespace cl = llvm::cl;
using namespace mf;
using llvm::Expected;
using llvm::outs;

namespace {

/// The exit codes of the tool.
enum CompareExitCode { Same = 0, Failure = 1, Different = 2 };

struct CompareOptions {
  cl::OptionCategory category{"A comparison"};
  cl::opt<std::string> ours{cl::Positional, cl::Required,
                            cl::desc("<dump.safetensors>"), cl::cat(category)};
  cl::opt<std::string> theirs{cl::Positional, cl::Required,
                              cl::desc("<other.safetensors>"),
                              cl::cat(category)};
  cl::opt<std::string> names{
      "names", cl::value_desc("file"), cl::cat(category),
      cl::desc("A table of names: lines 'name of the dump = name in the other "
               "file', in which a * stands for the same text on both sides; "
               "only these are compared")};
  cl::opt<double> tolerance{
      "tolerance", cl::value_desc("factor"), cl::init(8), cl::cat(category),
      cl::desc("Times the unit roundoff and the root of the number of "
               "operators before is the error that is allowed (default: 8)")};
  cl::opt<bool> all{"all", cl::cat(category),
                    cl::desc("Print each tensor with its error")};
};

const char overview[] =
    "mf-compare: finds the first operator of a step that is wrong\n\n"
    "The first file is the reference, written by `mf-run "
    "--dump-tensors=PATTERN -o FILE`;\nthe second is one of another program or "
    "of any other stack. Tensors are compared in\nthe order in which the "
    "reference made them. An error is the norm of the difference\nover the "
    "norm of the reference; how large it may be follows from the types and "
    "the\nnumber of operators that came before.\n";

const char extraHelp[] =
    "\nEXIT CODE:\n\n"
    "  0 all tensors agree; 1 the files cannot be compared; 2 some are "
    "wrong\n\n"
    "EXAMPLES:\n\n"
    "  mf-run model.mlir --data=FILE --dump-tensors='*' -o ours.safetensors\n"
    "  mf-compare ours.safetensors theirs.safetensors --names=names.txt\n";

void printTable(const TensorComparison &comparison) {
  TextTable table({"tensor", "error", "allowed", "operators", ""});
  for (const ComparedTensor &tensor : comparison.tensors)
    table.addRow({tensor.ours, formatDigits(tensor.error, 3),
                  formatDigits(tensor.tolerance, 3),
                  std::to_string(tensor.depth),
                  tensor.isWrong() ? "wrong" : ""});
  table.print(outs());
}

Expected<int> compare(const CompareOptions &options) {
  if (!std::isfinite(options.tolerance) || options.tolerance < 0)
    return llvm::createStringError(
        "--tolerance: expected a number from 0 on, but got " +
        formatDigits(options.tolerance, 6));
  auto ours = SafetensorsFile::open(options.ours);
  if (!ours)
    return ours.takeError();
  auto theirs = SafetensorsFile::open(options.theirs);
  if (!theirs)
    return theirs.takeError();
  std::optional<NamePairs> names;
  if (!options.names.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.names, /*IsText=*/true);
    if (!file)
      return llvm::createStringError("cannot read '" + options.names +
                                     "': " + file.getError().message());
    auto parsed = NamePairs::parse((*file)->getBuffer(), options.names);
    if (!parsed)
      return parsed.takeError();
    names = std::move(*parsed);
  }
  ComparisonRule rule;
  rule.names = names ? &*names : nullptr;
  rule.factor = options.tolerance;
  auto comparison = compareTensors(*ours, *theirs, rule);
  if (!comparison)
    return comparison.takeError();
  if (options.all)
    printTable(*comparison);
  const bool isWrong = comparison->findFirstWrong() != nullptr;
  if (isWrong)
    printFirstWrong(*comparison, outs());
  else
    outs() << "all " << comparison->tensors.size() << " tensors agree\n";
  if (!names && !comparison->skipped.empty())
    outs() << comparison->skipped.size() << " of the first file are not in the "
           << "second, such as " << comparison->skipped.front() << "\n";
  return isWrong ? Different : Same;
}

} // namespace

int mf::tools::mfCompareMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CompareOptions options;
  mf::tools::setUpHelp({&options.category}, extraHelp);
  cl::ParseCommandLineOptions(argc, argv, overview);
  Expected<int> code = compare(options);
  if (code)
    return *code;
  llvm::WithColor::error() << llvm::toString(code.takeError()) << "\n";
  return Failure;
}

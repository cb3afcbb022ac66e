//===- mf-check-rewrite.cpp - Runs the IR before and after passes ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `mf-check-rewrite model.mlir --recompute-config=train.yaml` lowers a training
// step and runs the IR before and after each pass. `mf-check-rewrite
// before.mlir after.mlir` runs two files. Both must compute the same results.
//
//===----------------------------------------------------------------------===//

#include "PassCheck.h"
#include "dialects/ascend/AscendDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/pipeline/Pipeline.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace mf::tools;

namespace {

struct RewriteCheckOptions {
  cl::OptionCategory category{"A comparison"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore,
                               cl::desc("<before.mlir> [<after.mlir>]"),
                               cl::cat(category)};
  cl::opt<std::string> config{
      "recompute-config", cl::value_desc("yaml"), cl::cat(category),
      cl::desc(
          "Lower one training step as this YAML says, and check each pass")};
  cl::opt<int64_t> steps{"steps", cl::value_desc("n"), cl::init(2),
                         cl::cat(category),
                         cl::desc("Steps to run (default: 2)")};
  cl::opt<uint64_t> seed{
      "seed", cl::value_desc("n"), cl::init(1), cl::cat(category),
      cl::desc("Seed of initial values and data (default: 1)")};
  cl::opt<double> tolerance{
      "tolerance", cl::value_desc("x"), cl::init(0), cl::cat(category),
      cl::desc("Relative difference that is allowed, for rewrites that change "
               "the order of sums (default: none, the same bits)")};
  cl::opt<bool> castOnce{
      "cast-once", cl::cat(category),
      cl::desc("Convert parameters once per step, as mf-opt does")};
  cl::opt<bool> forCann{
      "for-cann", cl::cat(category),
      cl::desc("Lower to kernels that CANN has, as mf-opt does")};
  cl::opt<int64_t> lossChunks{
      "loss-chunks", cl::value_desc("n"), cl::cat(category), cl::init(0),
      cl::desc("Compute the loss by n pieces of the sequence, as mf-opt does")};
  cl::opt<bool> recomputeTasks{
      "recompute-tasks", cl::cat(category),
      cl::desc("Recompute in tasks of their own, as mf-opt does")};
};

} // namespace

/// Registers the options at the first call.
static RewriteCheckOptions &getCommandLine() {
  static RewriteCheckOptions options;
  return options;
}

static int fail(const Twine &message) {
  WithColor::error(errs(), "mf-check-rewrite") << message << '\n';
  return 1;
}

static mf::interpreter::ComparisonOptions getOptions() {
  mf::interpreter::ComparisonOptions options;
  options.steps = getCommandLine().steps;
  options.seed = getCommandLine().seed;
  options.tolerance = getCommandLine().tolerance;
  return options;
}

static int checkFiles(mlir::ModuleOp before, mlir::ModuleOp after) {
  mf::interpreter::Comparison comparison =
      checkRewrite(before, after, getOptions());
  comparison.print(outs());
  outs() << '\n';
  return comparison.isSame() ? 0 : 1;
}

static int checkPasses(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  mf::passes::TrainingStepOptions options;
  // Rewrites are checked by running the IR.
  options.verify = false;
  options.config = getCommandLine().config;
  options.castOnce = getCommandLine().castOnce;
  options.forCann = getCommandLine().forCann;
  options.lossChunks = getCommandLine().lossChunks;
  options.recomputeTasks = getCommandLine().recomputeTasks;
  mf::passes::buildTrainingStepPipeline(manager, options);
  mlir::FailureOr<std::vector<Snapshot>> snapshots =
      runWithSnapshots(manager, module);
  if (failed(snapshots))
    return 1;
  int wrong = 0;
  for (size_t i = 1; i < snapshots->size(); ++i) {
    const Snapshot &snapshot = (*snapshots)[i];
    outs() << snapshot.pass << ": ";
    if (!snapshot.hasChanged) {
      outs() << "changes nothing\n";
      continue;
    }
    mf::interpreter::Comparison comparison = checkRewrite(
        *getReference(*snapshots, i).module, *snapshot.module, getOptions());
    comparison.print(outs());
    outs() << '\n';
    wrong += comparison.isSame() ? 0 : 1;
  }
  return wrong == 0 ? 0 : 1;
}

int mf::tools::mfCheckRewriteMain(int argc, char **argv) {
  InitLLVM initLlvm(argc, argv);
  setUpHelp({&getCommandLine().category},
            "\nEXAMPLES:\n\n"
            "  mf-check-rewrite before.mlir after.mlir\n"
            "  mf-check-rewrite --recompute-config=train.yaml model.mlir\n");
  cl::ParseCommandLineOptions(
      argc, argv, "mf-check-rewrite: runs the IR before and after passes\n");
  if (getCommandLine().steps < 1)
    return fail("--steps must be at least 1");
  if (getCommandLine().inputs.size() !=
      (getCommandLine().config.empty() ? 2 : 1))
    return fail("expected two files, or one and --recompute-config");

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  context.loadDialect<mf::ascend::AscendDialect, mf::ir::MfDialect>();
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, errs());
  SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  for (const std::string &input : getCommandLine().inputs) {
    modules.push_back(mlir::parseSourceFile<mlir::ModuleOp>(input, &context));
    if (!modules.back())
      return 1;
  }
  return getCommandLine().config.empty() ? checkFiles(*modules[0], *modules[1])
                                         : checkPasses(*modules[0]);
}

//===- LoweringFlags.h - Options for lowering a step ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_LOWERING_LOWERINGFLAGS_H
#define MF_TOOLS_LOWERING_LOWERINGFLAGS_H

#include "passes/pipeline/Pipeline.h"
#include "llvm/Support/CommandLine.h"
#include <array>

namespace mf::tools {

/// The options of all tools that lower a training step. A program has one
/// object, which it creates before it parses its command line.
struct LoweringFlags {
  explicit LoweringFlags(llvm::cl::OptionCategory &category)
      : fuseElementwise(
            "fuse-elementwise", llvm::cl::init(true), llvm::cl::cat(category),
            llvm::cl::desc(
                "Run chains of elementwise kernels as one (default: true)")),
        castOnce("cast-once", llvm::cl::cat(category),
                 llvm::cl::desc("Convert parameters once per step, as far as "
                                "device memory allows")),
        foldGradientScales(
            "fold-gradient-scales", llvm::cl::init(true),
            llvm::cl::cat(category),
            llvm::cl::desc("Multiply gradients where they are read, rather "
                           "than in place (default: true)")),
        fuseAccumulation(
            "fuse-accumulation", llvm::cl::cat(category),
            llvm::cl::desc("Add gradients to accumulators of another type "
                           "without a converted copy")),
        forCann("for-cann", llvm::cl::cat(category),
                llvm::cl::desc("Lower to what mf-translate --ascend-to-cpp "
                               "takes: kernels that CANN has, and the slack "
                               "that it asks for behind buffers")),
        memory("memory", llvm::cl::init(passes::LimitedMemory::Trainer),
               llvm::cl::cat(category),
               llvm::cl::desc("What the limit of device memory is for "
                              "(default: trainer)"),
               llvm::cl::values(
                   clEnumValN(passes::LimitedMemory::Trainer, "trainer",
                              "what the trainer of the YAML holds"),
                   clEnumValN(passes::LimitedMemory::Program, "program",
                              "what mf's own program needs"))) {}

  llvm::cl::opt<bool> fuseElementwise, castOnce, foldGradientScales,
      fuseAccumulation, forCann;
  llvm::cl::opt<passes::LimitedMemory> memory;

  passes::LoweringOptions getOptions() const {
    passes::LoweringOptions options;
    options.castOnce = castOnce;
    options.foldGradientScales = foldGradientScales;
    options.fuseAccumulation = fuseAccumulation;
    options.fuseElementwise = fuseElementwise;
    options.forCann = forCann;
    options.memory = memory;
    return options;
  }

  /// Returns all options, for example to check which are given.
  std::array<const llvm::cl::Option *, 6> list() const {
    return {&fuseElementwise,  &castOnce, &foldGradientScales,
            &fuseAccumulation, &forCann,  &memory};
  }
};

} // namespace mf::tools

#endif // MF_TOOLS_LOWERING_LOWERINGFLAGS_H

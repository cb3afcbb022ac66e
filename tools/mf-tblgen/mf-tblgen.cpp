//===- mf-tblgen.cpp - Tables of kernels from their records ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A TableGen backend for dialects/ascend/AscendKernels.td. `mf-tblgen -h` lists
// its generators; all else is llvm-tblgen's command line.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Main.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv);
  // Runs the emitter that the options name.
  llvm::MultiFileTableGenMainFn emitter = nullptr;
  return llvm::TableGenMain(argv[0], emitter);
}

//===- Passes.td - All passes, in pipeline order ---------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The examples are excerpts of the passes' output for examples/two_layers.mlir.
// test/docs/check_definitions.py describes their format and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_TD
#define MF_PASSES_TD
include "passes/ModelPasses.td"
include "passes/LayoutPasses.td"
include "passes/ChunkPasses.td"
include "passes/StepPasses.td"
include "passes/ProgramPasses.td"

#endif // MF_PASSES_TD

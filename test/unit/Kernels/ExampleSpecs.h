//===- ExampleSpecs.h - Specifications of every kernel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_KERNELS_EXAMPLESPECS_H
#define MF_TEST_UNIT_KERNELS_EXAMPLESPECS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include <vector>

namespace mf::testing {

/// Small specifications that kernels accept: one or more of each kernel, with
/// and without what is optional, and with workspaces where there can be one.
/// Integers among the inputs are indices from 0 to 3.
std::vector<KernelSpec> getExampleSpecs();

} // namespace mf::testing

#endif // MF_TEST_UNIT_KERNELS_EXAMPLESPECS_H

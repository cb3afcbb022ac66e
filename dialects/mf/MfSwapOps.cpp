//===- MfSwapOps.cpp - Copies of activations to the host ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

LogicalResult
mf::ir::verifySwapDistance(function_ref<InFlightDiagnostic()> emitError,
                           int64_t distance) {
  if (distance >= 1 && distance <= maximumSwapDistance)
    return success();
  return emitError() << "expected a distance from 1 to " << maximumSwapDistance
                     << " kernels, but got " << distance;
}

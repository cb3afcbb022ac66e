//===- CheckDevice.h - Compares the memory limit with a device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_CHECKDEVICE_H
#define MF_PASSES_PLAN_MEMORY_CHECKDEVICE_H

#include "passes/Passes.h"

namespace mf::passes {

/// Creates ascend-check-device. If there is a `text`, it is the contents of
/// `options.file`.
std::unique_ptr<mlir::Pass> createCheckDevice(const CheckDeviceOptions &options,
                                              std::optional<std::string> text);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_CHECKDEVICE_H

//===- DeviceDescription.h - #ascend.device and its numbers ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Converts between the attributes of a device description and the structs of
// mf::target.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_ASCEND_DEVICEDESCRIPTION_H
#define MF_DIALECTS_ASCEND_DEVICEDESCRIPTION_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Perf/Target/TargetFields.h"

namespace mf::ascend {

/// Return the numbers of an attribute. Names that are keys of the device (the
/// engine, the kind, the measure, the name of the network) are left empty.
target::ComputeEngine getNumbers(EngineAttr engine);
target::Memory getNumbers(MemoryAttr memory);
target::HostLink getNumbers(HostLinkAttr host);
target::Saturation getNumbers(SaturationAttr saturation);
target::KernelRate getNumbers(KernelRateAttr rate);
target::Network getNumbers(NetworkAttr network);
target::Target getNumbers(DeviceAttr device);
/// Returns the numbers of a device with these parameters. Its engines must be
/// cube and vector, its entries of the right kinds and its numbers complete.
target::Target getNumbers(mlir::StringAttr name,
                          mlir::ArrayRef<mlir::NamedAttribute> engines,
                          MemoryAttr memory, HostLinkAttr host,
                          mlir::ArrayRef<mlir::NamedAttribute> kernels,
                          mlir::ArrayRef<mlir::NamedAttribute> networks,
                          mlir::ArrayRef<mlir::NamedAttribute> numbers);

/// Writes the numbers of a part's attribute into its fields. Fails unless there
/// is a number of the right type for each field, in their order.
mlir::LogicalResult
assignNumbers(mlir::function_ref<mlir::InFlightDiagnostic()> emitError,
              mlir::ArrayRef<mlir::NamedAttribute> numbers,
              const target::Fields &fields);

/// Return the attribute of numbers that check() accepts.
EngineAttr getAttribute(mlir::MLIRContext *context,
                        const target::ComputeEngine &engine);
MemoryAttr getAttribute(mlir::MLIRContext *context,
                        const target::Memory &memory);
HostLinkAttr getAttribute(mlir::MLIRContext *context,
                          const target::HostLink &host);
SaturationAttr getAttribute(mlir::MLIRContext *context,
                            const target::Saturation &saturation);
KernelRateAttr getAttribute(mlir::MLIRContext *context,
                            const target::KernelRate &rate);
NetworkAttr getAttribute(mlir::MLIRContext *context,
                         const target::Network &network);
DeviceAttr getAttribute(mlir::MLIRContext *context,
                        const target::Target &target);

} // namespace mf::ascend

#endif // MF_DIALECTS_ASCEND_DEVICEDESCRIPTION_H

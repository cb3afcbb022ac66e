//===- DeviceDescription.cpp - #ascend.device and its numbers -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/DeviceDescription.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mf::ascend {

//===----------------------------------------------------------------------===//
// Numbers of attributes
//===----------------------------------------------------------------------===//

LogicalResult assignNumbers(function_ref<InFlightDiagnostic()> emitError,
                            ArrayRef<NamedAttribute> numbers,
                            const target::Fields &fields) {
  if (numbers.size() != fields.size())
    return emitError() << "expected " << fields.size() << " numbers, but got "
                       << numbers.size();
  for (auto [number, field] : llvm::zip_equal(numbers, fields)) {
    if (number.getName() != field.name)
      return emitError() << "expected number '" << field.name << "', but got '"
                         << number.getName().getValue() << "'";
    auto integer = dyn_cast<IntegerAttr>(number.getValue());
    auto decimal = dyn_cast<FloatAttr>(number.getValue());
    if (std::holds_alternative<int64_t *>(field.value) ? !integer : !decimal)
      return emitError() << "unexpected type of number '" << field.name << "'";
    if (integer)
      *std::get<int64_t *>(field.value) = integer.getInt();
    else
      *std::get<double *>(field.value) = decimal.getValueAsDouble();
  }
  return success();
}

/// Returns the entry with the numbers of an attribute that was verified.
template <typename Entry>
static Entry getVerified(ArrayRef<NamedAttribute> numbers) {
  Entry entry;
  auto fail = []() -> InFlightDiagnostic {
    llvm_unreachable("numbers were verified");
  };
  (void)assignNumbers(fail, numbers, getFields(entry));
  return entry;
}

target::ComputeEngine getNumbers(EngineAttr engine) {
  target::ComputeEngine result;
  for (NamedAttribute peak : engine.getPeaks())
    result.peaks.push_back(
        {*parseDType(peak.getName().getValue()),
         cast<FloatAttr>(peak.getValue()).getValueAsDouble()});
  return result;
}

target::Memory getNumbers(MemoryAttr memory) {
  return getVerified<target::Memory>(memory.getNumbers());
}

target::HostLink getNumbers(HostLinkAttr host) {
  return getVerified<target::HostLink>(host.getNumbers());
}

target::Saturation getNumbers(SaturationAttr saturation) {
  return getVerified<target::Saturation>(saturation.getNumbers());
}

target::KernelRate getNumbers(KernelRateAttr rate) {
  auto result = getVerified<target::KernelRate>(rate.getNumbers());
  for (NamedAttribute entry : rate.getSaturations()) {
    result.saturations.push_back(
        getNumbers(cast<SaturationAttr>(entry.getValue())));
    result.saturations.back().measure = entry.getName().str();
  }
  return result;
}

target::Network getNumbers(NetworkAttr network) {
  auto result = getVerified<target::Network>(network.getNumbers());
  result.of = network.getOf().str();
  result.wiring = network.getWiring() == Wiring::Mesh ? target::Wiring::Mesh
                                                      : target::Wiring::Switch;
  return result;
}

target::Target getNumbers(StringAttr name, ArrayRef<NamedAttribute> engines,
                          MemoryAttr memory, HostLinkAttr host,
                          ArrayRef<NamedAttribute> kernels,
                          ArrayRef<NamedAttribute> networks,
                          ArrayRef<NamedAttribute> numbers) {
  auto target = getVerified<target::Target>(numbers);
  target.name = name.str();
  for (NamedAttribute entry : engines) {
    target.engines.push_back(getNumbers(cast<EngineAttr>(entry.getValue())));
    target.engines.back().engine = entry.getName() == mf::getName(Engine::Cube)
                                       ? Engine::Cube
                                       : Engine::Vector;
  }
  target.memory = getNumbers(memory);
  target.host = getNumbers(host);
  for (NamedAttribute entry : kernels) {
    target.kernels.push_back(
        getNumbers(cast<KernelRateAttr>(entry.getValue())));
    target.kernels.back().kind = entry.getName().str();
  }
  for (NamedAttribute entry : networks) {
    target.networks.push_back(getNumbers(cast<NetworkAttr>(entry.getValue())));
    target.networks.back().name = entry.getName().str();
  }
  return target;
}

target::Target getNumbers(DeviceAttr device) {
  return getNumbers(device.getName(), device.getEngines(), device.getMemory(),
                    device.getHost(), device.getKernels(), device.getNetworks(),
                    device.getNumbers());
}

//===----------------------------------------------------------------------===//
// Attributes of numbers
//===----------------------------------------------------------------------===//

/// Returns the numbers of an entry with their names.
template <typename Entry>
static SmallVector<NamedAttribute> makeNumbers(MLIRContext *context,
                                               Entry entry) {
  Builder builder(context);
  SmallVector<NamedAttribute> numbers;
  for (const target::Field &field : getFields(entry)) {
    if (auto *const *integer = std::get_if<int64_t *>(&field.value))
      numbers.push_back(builder.getNamedAttr(
          field.name, builder.getI64IntegerAttr(**integer)));
    else
      numbers.push_back(builder.getNamedAttr(
          field.name, builder.getF64FloatAttr(field.getNumber())));
  }
  return numbers;
}

/// Wraps an attribute and its name.
static NamedAttribute makeEntry(MLIRContext *context, StringRef name,
                                Attribute value) {
  return {StringAttr::get(context, name), value};
}

EngineAttr getAttribute(MLIRContext *context,
                        const target::ComputeEngine &engine) {
  return EngineAttr::get(context, makeNumbers(context, engine));
}

MemoryAttr getAttribute(MLIRContext *context, const target::Memory &memory) {
  return MemoryAttr::get(context, makeNumbers(context, memory));
}

HostLinkAttr getAttribute(MLIRContext *context, const target::HostLink &host) {
  return HostLinkAttr::get(context, makeNumbers(context, host));
}

SaturationAttr getAttribute(MLIRContext *context,
                            const target::Saturation &saturation) {
  return SaturationAttr::get(context, makeNumbers(context, saturation));
}

KernelRateAttr getAttribute(MLIRContext *context,
                            const target::KernelRate &rate) {
  SmallVector<NamedAttribute> saturations;
  for (const target::Saturation &saturation : rate.saturations)
    saturations.push_back(makeEntry(context, saturation.measure,
                                    getAttribute(context, saturation)));
  return KernelRateAttr::get(context, makeNumbers(context, rate), saturations);
}

NetworkAttr getAttribute(MLIRContext *context, const target::Network &network) {
  return NetworkAttr::get(
      context, StringAttr::get(context, network.of),
      network.wiring == target::Wiring::Mesh ? Wiring::Mesh : Wiring::Switch,
      makeNumbers(context, network));
}

DeviceAttr getAttribute(MLIRContext *context, const target::Target &target) {
  SmallVector<NamedAttribute> engines, kernels, networks;
  for (const target::ComputeEngine &engine : target.engines)
    engines.push_back(makeEntry(context, mf::getName(engine.engine),
                                getAttribute(context, engine)));
  for (const target::KernelRate &rate : target.kernels)
    kernels.push_back(
        makeEntry(context, rate.kind, getAttribute(context, rate)));
  for (const target::Network &network : target.networks)
    networks.push_back(
        makeEntry(context, network.name, getAttribute(context, network)));
  return DeviceAttr::get(StringAttr::get(context, target.name), engines,
                         getAttribute(context, target.memory),
                         getAttribute(context, target.host), kernels, networks,
                         makeNumbers(context, target));
}

} // namespace mf::ascend

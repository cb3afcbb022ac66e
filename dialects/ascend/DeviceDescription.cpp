//===- DeviceDescription.cpp - #ascend.device and its numbers -------------===//

#include "dialects/ascend/DeviceDescription.h"

using namespace mlir;

namespace mf::ascend {

//===----------------------------------------------------------------------===//
// Numbers of attributes
//===----------------------------------------------------------------------===//

static double getNumber(Attribute number) {
  return cast<FloatAttr>(number).getValueAsDouble();
}

target::ComputeEngine getNumbers(EngineAttr engine) {
  target::ComputeEngine result;
  for (NamedAttribute peak : engine.getPeaks())
    result.peaks.push_back(
        {*parseDType(peak.getName().getValue()), getNumber(peak.getValue())});
  return result;
}

target::Memory getNumbers(MemoryAttr memory) {
  return {memory.getBytes(), getNumber(memory.getBytesPerSecond()),
          getNumber(memory.getCacheGain()), getNumber(memory.getCacheBytes())};
}

target::HostLink getNumbers(HostLinkAttr host) {
  return {getNumber(host.getToHostBytesPerSecond()),
          getNumber(host.getToDeviceBytesPerSecond()),
          getNumber(host.getLatency())};
}

target::Saturation getNumbers(SaturationAttr saturation) {
  return {{},
          getNumber(saturation.getHalf()),
          getNumber(saturation.getFull()),
          getNumber(saturation.getPower())};
}

target::KernelRate getNumbers(KernelRateAttr rate) {
  target::KernelRate result = {{},
                               getNumber(rate.getPeakShare()),
                               getNumber(rate.getPasses()),
                               getNumber(rate.getFusedPasses()),
                               getNumber(rate.getLatency()),
                               {}};
  for (NamedAttribute entry : rate.getSaturations()) {
    result.saturations.push_back(
        getNumbers(cast<SaturationAttr>(entry.getValue())));
    result.saturations.back().measure = entry.getName().str();
  }
  return result;
}

target::Network getNumbers(NetworkAttr network) {
  return {{},
          network.getOf().str(),
          network.getSize(),
          network.getWiring() == Wiring::Mesh ? target::Wiring::Mesh
                                              : target::Wiring::Switch,
          getNumber(network.getBytesPerSecond()),
          getNumber(network.getCollectiveShare()),
          getNumber(network.getMessageShare()),
          getNumber(network.getCollectiveLatency()),
          getNumber(network.getMessageLatency()),
          getNumber(network.getHidden())};
}

target::Target getNumbers(StringAttr name, ArrayRef<NamedAttribute> engines,
                          MemoryAttr memory, HostLinkAttr host,
                          ArrayRef<NamedAttribute> kernels,
                          ArrayRef<NamedAttribute> networks,
                          FloatAttr stepLatency) {
  target::Target target;
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
  target.stepLatency = getNumber(stepLatency);
  return target;
}

target::Target getNumbers(DeviceAttr device) {
  return getNumbers(device.getName(), device.getEngines(), device.getMemory(),
                    device.getHost(), device.getKernels(), device.getNetworks(),
                    device.getStepLatency());
}

//===----------------------------------------------------------------------===//
// Attributes of numbers
//===----------------------------------------------------------------------===//

static FloatAttr makeNumber(MLIRContext *context, double number) {
  return FloatAttr::get(Float64Type::get(context), number);
}

/// An attribute by its name.
static NamedAttribute makeEntry(MLIRContext *context, StringRef name,
                                Attribute value) {
  return {StringAttr::get(context, name), value};
}

EngineAttr getAttribute(MLIRContext *context,
                        const target::ComputeEngine &engine) {
  SmallVector<NamedAttribute> peaks;
  for (const target::Peak &peak : engine.peaks)
    peaks.push_back(makeEntry(context, mf::getName(peak.type),
                              makeNumber(context, peak.flopsPerSecond)));
  return EngineAttr::get(context, peaks);
}

MemoryAttr getAttribute(MLIRContext *context, const target::Memory &memory) {
  return MemoryAttr::get(context, memory.bytes,
                         makeNumber(context, memory.bytesPerSecond),
                         makeNumber(context, memory.cacheGain),
                         makeNumber(context, memory.cacheBytes));
}

HostLinkAttr getAttribute(MLIRContext *context, const target::HostLink &host) {
  return HostLinkAttr::get(context,
                           makeNumber(context, host.toHostBytesPerSecond),
                           makeNumber(context, host.toDeviceBytesPerSecond),
                           makeNumber(context, host.latency));
}

SaturationAttr getAttribute(MLIRContext *context,
                            const target::Saturation &saturation) {
  return SaturationAttr::get(context, makeNumber(context, saturation.half),
                             makeNumber(context, saturation.full),
                             makeNumber(context, saturation.power));
}

KernelRateAttr getAttribute(MLIRContext *context,
                            const target::KernelRate &rate) {
  SmallVector<NamedAttribute> saturations;
  for (const target::Saturation &saturation : rate.saturations)
    saturations.push_back(makeEntry(context, saturation.measure,
                                    getAttribute(context, saturation)));
  return KernelRateAttr::get(context, makeNumber(context, rate.peakShare),
                             makeNumber(context, rate.passes),
                             makeNumber(context, rate.fusedPasses),
                             makeNumber(context, rate.latency), saturations);
}

NetworkAttr getAttribute(MLIRContext *context, const target::Network &network) {
  return NetworkAttr::get(
      context, StringAttr::get(context, network.of), network.size,
      network.wiring == target::Wiring::Mesh ? Wiring::Mesh : Wiring::Switch,
      makeNumber(context, network.bytesPerSecond),
      makeNumber(context, network.collectiveShare),
      makeNumber(context, network.messageShare),
      makeNumber(context, network.collectiveLatency),
      makeNumber(context, network.messageLatency),
      makeNumber(context, network.hidden));
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
                         makeNumber(context, target.stepLatency));
}

} // namespace mf::ascend

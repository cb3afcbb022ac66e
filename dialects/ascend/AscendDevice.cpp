//===- AscendDevice.cpp - Meaning of device descriptions ------------------===//
//
// Verifiers, which are mf::target's checks, and DLTI queries.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/DeviceDescription.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mlir/Dialect/DLTI/DLTI.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

using ErrorEmitter = function_ref<InFlightDiagnostic()>;

static LogicalResult report(ErrorEmitter emitError, llvm::Error error) {
  if (!error)
    return success();
  return emitError() << llvm::toString(std::move(error));
}

/// Fails unless all entries are of one kind of attribute.
template <typename AttributeKind>
static LogicalResult verifyKind(ErrorEmitter emitError,
                                ArrayRef<NamedAttribute> entries) {
  for (NamedAttribute entry : entries)
    if (!isa<AttributeKind>(entry.getValue()))
      return emitError() << "expected " << AttributeKind::name
                         << " attributes, but got " << entry.getValue()
                         << " for '" << entry.getName().getValue() << "'";
  return success();
}

LogicalResult EngineAttr::verify(ErrorEmitter emitError,
                                 ArrayRef<NamedAttribute> peaks) {
  if (failed(verifyKind<FloatAttr>(emitError, peaks)))
    return failure();
  target::ComputeEngine engine;
  for (NamedAttribute peak : peaks) {
    std::optional<DType> type = parseDType(peak.getName().getValue());
    if (!type)
      return emitError() << "unknown element type '"
                         << peak.getName().getValue()
                         << "'; expected f32, bf16 and f16";
    engine.peaks.push_back(
        {*type, cast<FloatAttr>(peak.getValue()).getValueAsDouble()});
  }
  return report(emitError, checkEntry(engine));
}

LogicalResult MemoryAttr::verify(ErrorEmitter emitError, int64_t bytes,
                                 FloatAttr bytesPerSecond, FloatAttr cacheGain,
                                 FloatAttr cacheBytes) {
  return report(emitError, checkEntry(target::Memory{
                               bytes, bytesPerSecond.getValueAsDouble(),
                               cacheGain.getValueAsDouble(),
                               cacheBytes.getValueAsDouble()}));
}

LogicalResult HostLinkAttr::verify(ErrorEmitter emitError,
                                   FloatAttr toHostBytesPerSecond,
                                   FloatAttr toDeviceBytesPerSecond,
                                   FloatAttr latency) {
  return report(emitError, checkEntry(target::HostLink{
                               toHostBytesPerSecond.getValueAsDouble(),
                               toDeviceBytesPerSecond.getValueAsDouble(),
                               latency.getValueAsDouble()}));
}

LogicalResult SaturationAttr::verify(ErrorEmitter emitError, FloatAttr half,
                                     FloatAttr full, FloatAttr power) {
  return report(emitError,
                checkEntry(target::Saturation{{},
                                              half.getValueAsDouble(),
                                              full.getValueAsDouble(),
                                              power.getValueAsDouble()}));
}

LogicalResult KernelRateAttr::verify(ErrorEmitter emitError,
                                     FloatAttr peakShare, FloatAttr passes,
                                     FloatAttr fusedPasses, FloatAttr latency,
                                     ArrayRef<NamedAttribute> saturations) {
  if (failed(verifyKind<SaturationAttr>(emitError, saturations)))
    return failure();
  target::KernelRate rate = {{},
                             peakShare.getValueAsDouble(),
                             passes.getValueAsDouble(),
                             fusedPasses.getValueAsDouble(),
                             latency.getValueAsDouble(),
                             {}};
  for (NamedAttribute entry : saturations) {
    rate.saturations.push_back(
        getNumbers(cast<SaturationAttr>(entry.getValue())));
    rate.saturations.back().measure = entry.getName().str();
  }
  return report(emitError, checkEntry(rate));
}

LogicalResult NetworkAttr::verify(
    ErrorEmitter emitError, StringAttr of, int64_t size, Wiring wiring,
    FloatAttr bytesPerSecond, FloatAttr collectiveShare, FloatAttr messageShare,
    FloatAttr collectiveLatency, FloatAttr messageLatency, FloatAttr hidden) {
  return report(emitError, checkEntry(target::Network{
                               {},
                               of.str(),
                               size,
                               wiring == Wiring::Mesh ? target::Wiring::Mesh
                                                      : target::Wiring::Switch,
                               bytesPerSecond.getValueAsDouble(),
                               collectiveShare.getValueAsDouble(),
                               messageShare.getValueAsDouble(),
                               collectiveLatency.getValueAsDouble(),
                               messageLatency.getValueAsDouble(),
                               hidden.getValueAsDouble()}));
}

LogicalResult DeviceAttr::verify(ErrorEmitter emitError, StringAttr name,
                                 ArrayRef<NamedAttribute> engines,
                                 MemoryAttr memory, HostLinkAttr host,
                                 ArrayRef<NamedAttribute> kernels,
                                 ArrayRef<NamedAttribute> networks,
                                 FloatAttr stepLatency,
                                 ArrayRef<DataLayoutEntryInterface> entries) {
  if (failed(verifyKind<EngineAttr>(emitError, engines)) ||
      failed(verifyKind<KernelRateAttr>(emitError, kernels)) ||
      failed(verifyKind<NetworkAttr>(emitError, networks)))
    return failure();
  for (NamedAttribute engine : engines)
    if (engine.getName() != mf::getName(Engine::Cube) &&
        engine.getName() != mf::getName(Engine::Vector))
      return emitError() << "unknown engine '" << engine.getName().getValue()
                         << "'; expected cube and vector";
  return report(emitError, check(getNumbers(name, engines, memory, host,
                                            kernels, networks, stepLatency)));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

static DataLayoutEntryInterface makeEntry(StringAttr key, Attribute value) {
  return DataLayoutEntryAttr::get(key, value);
}

static Attribute makeMap(MLIRContext *context,
                         ArrayRef<NamedAttribute> entries) {
  SmallVector<DataLayoutEntryInterface> pairs;
  for (NamedAttribute entry : entries)
    pairs.push_back(makeEntry(entry.getName(), entry.getValue()));
  return MapAttr::get(context, pairs);
}

SmallVector<DataLayoutEntryInterface> DeviceAttr::makeEntries(
    StringAttr name, ArrayRef<NamedAttribute> engines, MemoryAttr memory,
    HostLinkAttr host, ArrayRef<NamedAttribute> kernels,
    ArrayRef<NamedAttribute> networks, FloatAttr stepLatency) {
  MLIRContext *context = name.getContext();
  auto make = [&](StringRef key, Attribute value) {
    return makeEntry(StringAttr::get(context, key), value);
  };
  // "device_type" is DLTI's name for the name of a device.
  return {make("device_type", name),
          make("engines", makeMap(context, engines)),
          make("memory", memory),
          make("host", host),
          make("kernels", makeMap(context, kernels)),
          make("networks", makeMap(context, networks)),
          make("step_latency", stepLatency)};
}

/// The number of the field that a key names.
static FailureOr<Attribute> queryFields(MLIRContext *context,
                                        DataLayoutEntryKey key,
                                        const target::Fields &fields) {
  auto name = dyn_cast<StringAttr>(key);
  if (!name)
    return failure();
  Builder builder(context);
  for (const target::Field &field : fields)
    if (field.name == name.getValue()) {
      if (auto *const *integer = std::get_if<int64_t *>(&field.value))
        return Attribute(builder.getI64IntegerAttr(**integer));
      return Attribute(builder.getF64FloatAttr(field.getNumber()));
    }
  return failure();
}

/// The same for an attribute that has only numbers.
template <typename PartAttr>
static FailureOr<Attribute> queryNumbers(PartAttr part,
                                         DataLayoutEntryKey key) {
  auto numbers = getNumbers(part);
  return queryFields(part.getContext(), key, getFields(numbers));
}

FailureOr<Attribute> EngineAttr::query(DataLayoutEntryKey key) {
  return queryNumbers(*this, key);
}

FailureOr<Attribute> MemoryAttr::query(DataLayoutEntryKey key) {
  return queryNumbers(*this, key);
}

FailureOr<Attribute> HostLinkAttr::query(DataLayoutEntryKey key) {
  return queryNumbers(*this, key);
}

FailureOr<Attribute> SaturationAttr::query(DataLayoutEntryKey key) {
  return queryNumbers(*this, key);
}

FailureOr<Attribute> KernelRateAttr::query(DataLayoutEntryKey key) {
  for (NamedAttribute saturation : getSaturations())
    if (DataLayoutEntryKey(saturation.getName()) == key)
      return saturation.getValue();
  return queryNumbers(*this, key);
}

FailureOr<Attribute> NetworkAttr::query(DataLayoutEntryKey key) {
  if (auto name = dyn_cast<StringAttr>(key)) {
    if (name == "of")
      return Attribute(getOf());
    if (name == "wiring")
      return Attribute(
          StringAttr::get(getContext(), stringifyWiring(getWiring())));
  }
  return queryNumbers(*this, key);
}

//===- AscendDevice.cpp - Checks and queries of device descriptions -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Verifiers, which use the checks of mf::target, and DLTI queries.
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

/// Fails unless all entries have the given kind of attribute.
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

/// Reads the numbers of a part of the description into `entry` and checks them.
template <typename Entry>
static LogicalResult verifyNumbers(ErrorEmitter emitError, Entry &entry,
                                   ArrayRef<NamedAttribute> numbers) {
  if (failed(assignNumbers(emitError, numbers, getFields(entry))))
    return failure();
  return report(emitError, checkEntry(entry));
}

LogicalResult MemoryAttr::verify(ErrorEmitter emitError,
                                 ArrayRef<NamedAttribute> numbers) {
  target::Memory memory;
  return verifyNumbers(emitError, memory, numbers);
}

LogicalResult HostLinkAttr::verify(ErrorEmitter emitError,
                                   ArrayRef<NamedAttribute> numbers) {
  target::HostLink host;
  return verifyNumbers(emitError, host, numbers);
}

LogicalResult SaturationAttr::verify(ErrorEmitter emitError,
                                     ArrayRef<NamedAttribute> numbers) {
  target::Saturation saturation;
  return verifyNumbers(emitError, saturation, numbers);
}

LogicalResult KernelRateAttr::verify(ErrorEmitter emitError,
                                     ArrayRef<NamedAttribute> numbers,
                                     ArrayRef<NamedAttribute> saturations) {
  if (failed(verifyKind<SaturationAttr>(emitError, saturations)))
    return failure();
  target::KernelRate rate;
  for (NamedAttribute entry : saturations) {
    rate.saturations.push_back(
        mf::ascend::getNumbers(cast<SaturationAttr>(entry.getValue())));
    rate.saturations.back().measure = entry.getName().str();
  }
  return verifyNumbers(emitError, rate, numbers);
}

LogicalResult NetworkAttr::verify(ErrorEmitter emitError, StringAttr of,
                                  Wiring wiring,
                                  ArrayRef<NamedAttribute> numbers) {
  target::Network network;
  network.of = of.str();
  network.wiring =
      wiring == Wiring::Mesh ? target::Wiring::Mesh : target::Wiring::Switch;
  return verifyNumbers(emitError, network, numbers);
}

LogicalResult DeviceAttr::verify(ErrorEmitter emitError, StringAttr name,
                                 ArrayRef<NamedAttribute> engines,
                                 MemoryAttr memory, HostLinkAttr host,
                                 ArrayRef<NamedAttribute> kernels,
                                 ArrayRef<NamedAttribute> networks,
                                 ArrayRef<NamedAttribute> numbers,
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
  target::Target target;
  if (failed(assignNumbers(emitError, numbers, getFields(target))))
    return failure();
  return report(emitError,
                check(mf::ascend::getNumbers(name, engines, memory, host,
                                             kernels, networks, numbers)));
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
    ArrayRef<NamedAttribute> networks, ArrayRef<NamedAttribute> numbers) {
  MLIRContext *context = name.getContext();
  auto make = [&](StringRef key, Attribute value) {
    return makeEntry(StringAttr::get(context, key), value);
  };
  // "device_type" is DLTI's key for the name of a device.
  SmallVector<DataLayoutEntryInterface> entries = {
      make("device_type", name),
      make("engines", makeMap(context, engines)),
      make("memory", memory),
      make("host", host),
      make("kernels", makeMap(context, kernels)),
      make("networks", makeMap(context, networks))};
  for (NamedAttribute number : numbers)
    entries.push_back(makeEntry(number.getName(), number.getValue()));
  return entries;
}

/// Returns the value of a key.
static FailureOr<Attribute> queryEntries(DataLayoutEntryKey key,
                                         ArrayRef<NamedAttribute> entries) {
  for (NamedAttribute entry : entries)
    if (DataLayoutEntryKey(entry.getName()) == key)
      return entry.getValue();
  return failure();
}

FailureOr<Attribute> EngineAttr::query(DataLayoutEntryKey key) {
  return queryEntries(key, getPeaks());
}

FailureOr<Attribute> MemoryAttr::query(DataLayoutEntryKey key) {
  return queryEntries(key, getNumbers());
}

FailureOr<Attribute> HostLinkAttr::query(DataLayoutEntryKey key) {
  return queryEntries(key, getNumbers());
}

FailureOr<Attribute> SaturationAttr::query(DataLayoutEntryKey key) {
  return queryEntries(key, getNumbers());
}

FailureOr<Attribute> KernelRateAttr::query(DataLayoutEntryKey key) {
  FailureOr<Attribute> saturation = queryEntries(key, getSaturations());
  return succeeded(saturation) ? saturation : queryEntries(key, getNumbers());
}

FailureOr<Attribute> NetworkAttr::query(DataLayoutEntryKey key) {
  if (auto name = dyn_cast<StringAttr>(key)) {
    if (name == "of")
      return Attribute(getOf());
    if (name == "wiring")
      return Attribute(
          StringAttr::get(getContext(), stringifyWiring(getWiring())));
  }
  return queryEntries(key, getNumbers());
}

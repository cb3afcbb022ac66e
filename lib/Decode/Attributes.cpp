//===- Attributes.cpp - Types and attributes of a program -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DecoderState.h"
#include "dialects/ascend/KernelSpecs.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace mf::program {

FailureOr<BufferShape> decodeType(Operation *op, Type type) {
  auto buffer = dyn_cast<ascend::BufferType>(type);
  if (!buffer)
    return op->emitError("expected a buffer, but got ") << type;
  std::optional<TensorShape> shape = getTensorShape(buffer.getTensor());
  if (!shape)
    return op->emitError("expected elements of f32, bf16, f16, i32, i64 or i1, "
                         "but got ")
           << type;
  BufferShape result;
  result.shape = std::move(*shape);
  result.bytes = mf::getBytes(result.shape.type);
  bool isEmpty = false;
  for (int64_t extent : result.shape.dims) {
    isEmpty |= extent == 0;
    if (__builtin_mul_overflow(result.bytes, extent == 0 ? 1 : extent,
                               &result.bytes) ||
        result.bytes > maximumBytes)
      return op->emitError("the buffer ") << type << " is too large";
  }
  result.bytes = isEmpty ? 0 : result.shape.getBytes();
  result.space =
      buffer.getSpace() == ascend::Space::Hbm ? Space::Device : Space::Host;
  return result;
}

FailureOr<InitialValue> decodeInitialValue(Operation *op, Attribute attribute) {
  auto init = dyn_cast<ir::InitAttr>(attribute);
  if (!init)
    return op->emitError("expected #mf.init as initial value, but got ")
           << attribute;
  InitialValue result;
  result.kind = *parseInitialKind(ir::stringifyInitKind(init.getKind()));
  result.value = init.getValue().convertToDouble();
  result.scale = init.getScale().convertToDouble();
  result.amplitude = init.getAmplitude().convertToDouble();
  if (!init.getFrequencies())
    return result;
  for (Attribute element : init.getFrequencies()) {
    auto frequency = dyn_cast<FloatAttr>(element);
    if (!frequency)
      return op->emitError("expected floats as frequencies, but got ")
             << element;
    result.frequencies.push_back(frequency.getValueAsDouble());
  }
  return result;
}

static std::optional<ScheduleValue> decodeScheduleValue(Attribute attribute) {
  using Result = std::optional<ScheduleValue>;
  return llvm::TypeSwitch<Attribute, Result>(attribute)
      .Case([](BoolAttr value) { return ScheduleValue(value.getValue()); })
      .Case([](IntegerAttr value) -> Result {
        if (value.getValue().getSignificantBits() > 64)
          return std::nullopt;
        return ScheduleValue(value.getValue().getSExtValue());
      })
      .Case([](FloatAttr value) {
        return ScheduleValue(value.getValueAsDouble());
      })
      .Case([](StringAttr value) { return ScheduleValue(value.str()); })
      .Default([](Attribute) { return std::nullopt; });
}

static LogicalResult decodeGroups(Operation *op, Attribute attribute,
                                  std::vector<LearningRateRule> &groups) {
  auto items = dyn_cast<ArrayAttr>(attribute);
  if (!items || !llvm::all_of(items, llvm::IsaPred<DictionaryAttr>))
    return op->emitError("lr_schedule: expected 'groups' to be a list of "
                         "schedules, but got ")
           << attribute;
  for (auto item : items.getAsRange<DictionaryAttr>()) {
    if (item.contains("groups"))
      return op->emitError("lr_schedule: a group has no 'groups' of its own");
    FailureOr<LearningRateRule> rule = decodeLrSchedule(op, item);
    if (failed(rule))
      return failure();
    groups.push_back(std::move(*rule));
  }
  return success();
}

FailureOr<LearningRateRule> decodeLrSchedule(Operation *op,
                                             DictionaryAttr attribute) {
  LearningRateRule schedule;
  bool hasType = false;
  for (NamedAttribute named : attribute) {
    if (named.getName() == "groups") {
      if (failed(decodeGroups(op, named.getValue(), schedule.groups)))
        return failure();
      continue;
    }
    // Lowering has used the parameters of a group already.
    if (named.getName() == "params")
      continue;
    std::optional<ScheduleValue> value = decodeScheduleValue(named.getValue());
    if (!value)
      return op->emitError("lr_schedule: '")
             << named.getName().getValue()
             << "': expected a boolean, a number or a string, but got "
             << named.getValue();
    auto *type = std::get_if<std::string>(&*value);
    if (named.getName() == "type" && type) {
      schedule.type = std::move(*type);
      hasType = true;
    } else {
      schedule.parameters.emplace(named.getName().str(), std::move(*value));
    }
  }
  if (!hasType)
    return op->emitError("lr_schedule has no 'type'");
  return schedule;
}

FailureOr<LossScale> decodeLossScale(Operation *op, DictionaryAttr attribute) {
  LossScale scale;
  for (NamedAttribute named : attribute) {
    StringRef key = named.getName().getValue();
    int64_t *number = key == "factor"   ? &scale.factor
                      : key == "window" ? &scale.window
                                        : nullptr;
    auto real = dyn_cast<FloatAttr>(named.getValue());
    auto integer = dyn_cast<IntegerAttr>(named.getValue());
    if (key == "value" && real) {
      scale.value = static_cast<float>(real.getValueAsDouble());
    } else if (number && integer && integer.getType().isSignlessInteger(64) &&
               integer.getInt() > 0) {
      *number = integer.getInt();
    } else {
      return op->emitError("loss_scale: expected a number as 'value' and "
                           "positive integers as 'factor' and 'window', but "
                           "got '")
             << key << "' = " << named.getValue();
    }
  }
  if (!std::isfinite(scale.value) || scale.value <= 0)
    return op->emitError("loss_scale: expected a 'value' above 0 that fp32 can "
                         "hold");
  if ((scale.factor > 0) != (scale.window > 0))
    return op->emitError("loss_scale: expected both 'factor' and 'window' or "
                         "neither");
  return scale;
}

FailureOr<Mesh> decodeMesh(ModuleOp module, int64_t numStages) {
  Attribute attribute = module->getAttr(ir::MeshAttr::attributeName);
  if (!attribute)
    return Mesh({{stageAxis.str(), numStages}});
  auto mesh = dyn_cast<ir::MeshAttr>(attribute);
  if (!mesh)
    return module.emitError("expected a mesh as mf.mesh, such as #mf.mesh<pp = "
                            "2, dp = 4>, but got ")
           << attribute;
  std::vector<Axis> axes;
  for (auto [name, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    axes.push_back({name.str(), size});
  if (axes.front().size != numStages)
    return module.emitError("has ")
           << numStages << " stages, but its mesh is " << mesh;
  return Mesh(std::move(axes));
}

FailureOr<trainer::TrainerPeak> decodeTrainerMemory(Operation *op,
                                                    DictionaryAttr attribute) {
  trainer::TrainerPeak peak;
  auto live = attribute.getAs<IntegerAttr>("live");
  auto task = attribute.getAs<StringAttr>("task");
  auto at = attribute.getAs<StringAttr>("at");
  auto parts = attribute.getAs<DictionaryAttr>("parts");
  auto lasting = attribute.getAs<IntegerAttr>("lasting");
  auto chunks = attribute.getAs<DenseI64ArrayAttr>("kept_by_chunk");
  bool isKnown =
      live && task && at && parts && lasting && chunks && attribute.size() == 6;
  size_t found = 0;
  for (size_t i = 0; isKnown && i < trainer::numCategories; ++i) {
    const auto category = static_cast<trainer::TrainerCategory>(i);
    Attribute bytes = parts.get(trainer::getKey(category));
    if (!bytes)
      continue;
    auto number = dyn_cast<IntegerAttr>(bytes);
    isKnown = number && number.getInt() >= 0;
    if (isKnown)
      peak.moment.bytes[category] = number.getInt();
    ++found;
  }
  if (!isKnown || found != parts.size() ||
      peak.moment.bytes.getTotal() != live.getInt())
    return op->emitError("expected {live = ..., task = \"...\", at = \"...\", "
                         "parts = {...}, lasting = ..., kept_by_chunk = "
                         "array<...>} as trainer_memory, where the parts add "
                         "up to the live bytes, but got ")
           << attribute;
  peak.task = task.getValue().str();
  peak.moment.at = at.getValue().str();
  peak.lastingBytes = lasting.getInt();
  peak.keptByChunk = chunks.asArrayRef().vec();
  return peak;
}

LogicalResult decodeSampleOrder(ModuleOp module, SampleOrder &order) {
  auto name = module->getAttrOfType<StringAttr>(ir::sampleOrderAttribute);
  if (!name)
    return success();
  std::optional<SampleOrder> parsed = parseSampleOrder(name.getValue());
  if (!parsed)
    return module.emitError("unknown mf.sample_order ") << name;
  order = *parsed;
  return success();
}

} // namespace mf::program

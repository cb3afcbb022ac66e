//===- ReadFacts.cpp - The facts of a program, decoded --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReadFacts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace mf::step {

Mesh makeMesh(const Facts &facts) {
  std::vector<Axis> axes;
  for (const auto &[name, size] : facts.axes)
    axes.push_back({name, size});
  return Mesh(std::move(axes));
}

static Error checkVersion(const Facts &facts) {
  if (facts.version == interfaceVersion)
    return Error::success();
  const std::string expected =
      "version " + std::to_string(interfaceVersion) +
      " of libmf-step's interface; emit it again with mf-translate";
  if (facts.version == 0)
    return createStringError("the program does not say its version: expected " +
                             expected);
  return createStringError("the program is for version " +
                           std::to_string(facts.version) + ": expected " +
                           expected);
}

/// A mesh can only be made of axes that pass this check.
static Error checkAxes(const Facts &facts) {
  if (facts.axes.empty() || facts.axes.front().first != stageAxis)
    return createStringError("expected '" + stageAxis +
                             "' as the first axis of the mesh");
  for (const auto &[name, size] : facts.axes)
    if (size < 1)
      return createStringError("axis '" + name + "': expected at least 1 rank");
  if (facts.stages.size() != static_cast<size_t>(facts.axes.front().second))
    return createStringError(
        "expected the statics of " + std::to_string(facts.axes.front().second) +
        " stages, but got those of " + std::to_string(facts.stages.size()));
  return Error::success();
}

static Error checkKnown(const Mesh &mesh, const std::string &what,
                        const std::vector<std::string> &axes) {
  for (const std::string &axis : axes)
    if (!mesh.hasAxis(axis))
      return createStringError(what + ": the mesh has no axis '" + axis + "'");
  return Error::success();
}

static Error checkChannel(const Mesh &mesh, const StepChannel &channel) {
  const std::string what = "channel '" + channel.name + "'";
  if (Error error = checkKnown(mesh, what, channel.groupAxes))
    return error;
  if (!channel.axis.empty())
    if (Error error = checkKnown(mesh, what, {channel.axis}))
      return error;
  std::vector<int64_t> stages = channel.groupStages;
  stages.insert(stages.end(), {channel.fromStage, channel.toStage});
  for (const int64_t stage : stages)
    if (stage < 0 || stage >= mesh.getNumStages())
      return createStringError(what + ": there is no stage " +
                               std::to_string(stage));
  return Error::success();
}

static Error readSlice(const Mesh &mesh, const StepBuffer &buffer,
                       Static &made) {
  if (buffer.sliceDims.empty())
    return Error::success();
  const std::string what = "'" + buffer.name + "'";
  if (buffer.sliceDims.size() != buffer.dims.size() ||
      buffer.sliceAxes.size() != buffer.dims.size())
    return createStringError(what +
                             ": expected a size and axes of the whole "
                             "for each of " +
                             std::to_string(buffer.dims.size()) +
                             " dimensions");
  for (const std::vector<std::string> &axes : buffer.sliceAxes)
    if (Error error = checkKnown(mesh, what, axes))
      return error;
  Slice &slice = made.slice.emplace();
  llvm::append_range(slice.dims, buffer.sliceDims);
  slice.axes = buffer.sliceAxes;
  return Error::success();
}

static Expected<InitialValue> readInitial(const StepBuffer &buffer) {
  const Initial &initial = buffer.initial;
  const std::optional<InitialValue::Kind> kind = parseInitialKind(initial.kind);
  if (!kind)
    return createStringError("'" + buffer.name +
                             "': unknown kind of initial value '" +
                             initial.kind + "'");
  InitialValue value;
  value.kind = *kind;
  value.value = initial.value;
  value.scale = initial.scale;
  value.amplitude = initial.amplitude;
  value.frequencies = initial.frequencies;
  return value;
}

static Expected<Static> readStatic(const Mesh &mesh, const StepBuffer &buffer) {
  const std::optional<Role> role = parseRole(buffer.role);
  if (!role)
    return createStringError("'" + buffer.name + "': unknown role '" +
                             buffer.role + "'");
  const std::optional<DType> type = parseDType(buffer.type);
  if (!type)
    return createStringError("'" + buffer.name + "': unknown element type '" +
                             buffer.type + "'");
  Static made;
  made.name = buffer.name;
  made.role = *role;
  made.of = buffer.of;
  made.tied = buffer.tied;
  made.shape.type = *type;
  llvm::append_range(made.shape.dims, buffer.dims);
  made.bytes = buffer.bytes;
  made.space = buffer.onHost ? Space::Host : Space::Device;
  if (!buffer.initial.kind.empty()) {
    Expected<InitialValue> initial = readInitial(buffer);
    if (!initial)
      return initial.takeError();
    made.init = std::move(*initial);
  }
  if (Error error = readSlice(mesh, buffer, made))
    return std::move(error);
  return made;
}

Expected<ReadFacts> readFacts(const Facts &facts) {
  // The other members mean something else in another version.
  if (Error error = checkVersion(facts))
    return std::move(error);
  if (Error error = checkAxes(facts))
    return std::move(error);
  ReadFacts read;
  read.mesh = makeMesh(facts);
  if (facts.rank < 0 || facts.rank >= read.mesh.getNumRanks())
    return createStringError("expected a rank of " +
                             std::to_string(read.mesh.getNumRanks()) +
                             ", but got " + std::to_string(facts.rank));
  for (const StepChannel &channel : facts.channels)
    if (Error error = checkChannel(read.mesh, channel))
      return std::move(error);
  const std::optional<SampleOrder> order = parseSampleOrder(facts.sampleOrder);
  if (!order)
    return createStringError("unknown order of samples '" + facts.sampleOrder +
                             "'");
  read.sampleOrder = *order;
  for (const std::vector<StepBuffer> &buffers : facts.stages) {
    std::vector<Static> &statics = read.stages.emplace_back();
    for (const StepBuffer &buffer : buffers) {
      Expected<Static> made = readStatic(read.mesh, buffer);
      if (!made)
        return made.takeError();
      statics.push_back(std::move(*made));
    }
  }
  return read;
}

std::string checkFacts(const Facts &facts) {
  return llvm::toString(readFacts(facts).takeError());
}

} // namespace mf::step

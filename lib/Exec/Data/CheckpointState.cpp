//===- CheckpointState.cpp - state.json of a checkpoint -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CheckpointState.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;

namespace mf {

namespace {

constexpr int64_t formatVersion = 1;

/// Counts above this are refused, so that a run which resumes can count further
/// without overflow.
constexpr int64_t maximumCount = int64_t{1} << 62;

Error memberError(StringRef name, StringRef expected) {
  return createStringError(inconvertibleErrorCode(), "'%s': expected %s",
                           name.data(), expected.data());
}

Error readCount(const json::Object &object, StringRef name, int64_t &value) {
  const std::optional<int64_t> number = object.getInteger(name);
  if (!number || *number < 0 || *number > maximumCount)
    return memberError(name, "an integer from 0 to 2^62");
  value = *number;
  return Error::success();
}

Error readFiles(const json::Object &object,
                std::vector<CheckpointManifest::File> &files) {
  const json::Array *array = object.getArray("ranks");
  if (!array || array->empty())
    return memberError("ranks", "one entry per rank");
  for (const json::Value &element : *array) {
    const json::Object *entry = element.getAsObject();
    const std::optional<StringRef> name =
        entry ? entry->getString("file") : std::nullopt;
    if (!name || name->empty() || *name == ".." ||
        sys::path::filename(*name) != *name)
      return memberError("ranks", "the name of a file in the checkpoint");
    CheckpointManifest::File file;
    file.name = name->str();
    if (Error error = readCount(*entry, "bytes", file.bytes))
      return error;
    files.push_back(std::move(file));
  }
  return Error::success();
}

} // namespace

Error checkState(const CheckpointState &state) {
  const int64_t counts[] = {state.step, state.updates, state.dataPosition,
                            state.cleanSteps};
  if (llvm::any_of(counts, [](int64_t n) { return n < 0 || n > maximumCount; }))
    return createStringError(
        inconvertibleErrorCode(),
        "cannot save step %lld with %lld updates, data position %lld and %lld "
        "clean steps: expected 0 to 2^62",
        static_cast<long long>(state.step),
        static_cast<long long>(state.updates),
        static_cast<long long>(state.dataPosition),
        static_cast<long long>(state.cleanSteps));
  if (!std::isfinite(state.lossScale))
    return createStringError(inconvertibleErrorCode(),
                             "cannot save a loss scale that is not finite");
  return Error::success();
}

std::string printManifest(const CheckpointManifest &manifest) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream out(stream, /*IndentSize=*/2);
  out.object([&] {
    out.attribute("format", "mf checkpoint");
    out.attribute("version", formatVersion);
    out.attribute("sequence", manifest.sequence);
    out.attribute("step", manifest.state.step);
    out.attribute("updates", manifest.state.updates);
    out.attribute("data_position", manifest.state.dataPosition);
    out.attribute("seed", manifest.state.seed);
    // A float is a double: it reads back exactly.
    out.attribute("loss_scale", static_cast<double>(manifest.state.lossScale));
    out.attribute("clean_steps", manifest.state.cleanSteps);
    out.attributeArray("ranks", [&] {
      for (const CheckpointManifest::File &file : manifest.files)
        out.object([&] {
          out.attribute("file", file.name);
          out.attribute("bytes", file.bytes);
        });
    });
  });
  text += '\n';
  return text;
}

Expected<CheckpointManifest> parseManifest(StringRef text) {
  Expected<json::Value> value = parseStrictJson(text, /*maximumDepth=*/4);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("format") != "mf checkpoint")
    return memberError("format", "\"mf checkpoint\"");
  if (object->getInteger("version") != formatVersion)
    return memberError("version", "1 (was it written by a newer release?)");

  CheckpointManifest manifest;
  const std::pair<const char *, int64_t *> counts[] = {
      {"sequence", &manifest.sequence},
      {"step", &manifest.state.step},
      {"updates", &manifest.state.updates},
      {"data_position", &manifest.state.dataPosition},
      {"clean_steps", &manifest.state.cleanSteps}};
  for (auto [name, count] : counts)
    if (Error error = readCount(*object, name, *count))
      return error;
  const json::Value *seed = object->get("seed");
  const std::optional<uint64_t> seedNumber =
      seed ? seed->getAsUINT64() : std::nullopt;
  if (!seedNumber)
    return memberError("seed", "an integer from 0 to 2^64 - 1");
  manifest.state.seed = *seedNumber;
  const std::optional<double> lossScale = object->getNumber("loss_scale");
  if (!lossScale || !std::isfinite(static_cast<float>(*lossScale)))
    return memberError("loss_scale", "a number");
  manifest.state.lossScale = static_cast<float>(*lossScale);
  if (Error error = readFiles(*object, manifest.files))
    return error;
  return manifest;
}

} // namespace mf

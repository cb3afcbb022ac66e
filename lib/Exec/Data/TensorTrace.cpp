//===- TensorTrace.cpp - The order and roundings of dumped tensors --------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TensorTrace.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;

namespace mf {

double getUnitRoundoff(DType type) {
  switch (type) {
  case DType::F32:
    return std::ldexp(1.0, -24);
  case DType::BF16:
    return std::ldexp(1.0, -8);
  case DType::F16:
    return std::ldexp(1.0, -11);
  case DType::I32:
  case DType::I64:
  case DType::I1:
    return 0;
  }
  llvm_unreachable("unknown element type");
}

std::string printTrace(ArrayRef<TracedTensor> trace) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream out(stream);
  out.array([&] {
    for (const TracedTensor &tensor : trace)
      out.array([&] {
        out.value(tensor.name);
        out.value(tensor.depth);
        out.value(tensor.rounding);
      });
  });
  return text;
}

/// Returns none unless the value is a list of name, depth and rounding.
static std::optional<TracedTensor> readTraced(const json::Value &value) {
  const json::Array *list = value.getAsArray();
  if (!list || list->size() != 3)
    return std::nullopt;
  const std::optional<StringRef> name = (*list)[0].getAsString();
  const std::optional<int64_t> depth = (*list)[1].getAsInteger();
  const std::optional<double> rounding = (*list)[2].getAsNumber();
  if (!name || !depth || *depth < 1 || !rounding || !(*rounding >= 0) ||
      *rounding > 1)
    return std::nullopt;
  return TracedTensor{name->str(), *depth, *rounding};
}

Expected<TensorTrace> readTrace(const SafetensorsFile &file) {
  TensorTrace trace;
  const auto found = file.getMetadata().find(traceKey.str());
  if (found == file.getMetadata().end())
    return trace;
  auto fail = [&](const Twine &message) {
    return createStringError(file.getPath() + ": " + traceKey +
                             " of its metadata: " + message);
  };
  Expected<json::Value> value = json::parse(found->second);
  if (!value)
    return fail(toString(value.takeError()));
  const json::Array *list = value->getAsArray();
  if (!list)
    return fail("expected a list");
  StringMap<bool> names;
  for (const json::Value &element : *list) {
    std::optional<TracedTensor> tensor = readTraced(element);
    if (!tensor)
      return fail("expected lists of a name, a depth from 1 on and a rounding "
                  "from 0 to 1");
    if (!file.lookup(tensor->name))
      return fail("the file has no tensor '" + tensor->name + "'");
    if (!names.try_emplace(tensor->name).second)
      return fail("tensor '" + tensor->name + "' is there twice");
    trace.push_back(std::move(*tensor));
  }
  return trace;
}

} // namespace mf

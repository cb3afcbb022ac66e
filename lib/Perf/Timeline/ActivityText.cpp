//===- ActivityText.cpp - JSON of an activity for traces ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ActivityText.h"
#include "TimelineParts.h"
#include "TraceEvents.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using llvm::StringRef;
using llvm::Twine;

namespace mf::timeline {

namespace {

/// Returns the ranks, for example "0 1 2 3". If there are many, only the first
/// ones and the number are named.
std::string getRanks(const Activity &activity) {
  constexpr size_t maxListed = 16;
  const llvm::ArrayRef<int64_t> ranks = activity.ranks;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(ranks.take_front(maxListed), os, " ");
  if (ranks.size() > maxListed)
    os << " ... (" << ranks.size() << ")";
  return text;
}

} // namespace

ActivityText makeText(const Activity &activity) {
  ActivityText text;
  text.name = quoteJson(getSpanName(activity));
  auto add = [](std::string &members, StringRef key, const Twine &value) {
    if (!members.empty())
      members += ',';
    members += (quoteJson(key) + ":" + value).str();
  };
  if (!activity.kind.empty() && activity.kind != getSpanName(activity))
    add(text.brief, "kind", quoteJson(activity.kind));
  if (!activity.cell.empty())
    add(text.brief, "operator", quoteJson(activity.cell));
  std::string shapes = getShapes(activity);
  if (!shapes.empty())
    add(text.details, "shapes", quoteJson(shapes));
  if (activity.flops > 0)
    add(text.details, "FLOPs", Twine(activity.flops));
  if (activity.bytes > 0)
    add(text.details, "bytes", Twine(activity.bytes));
  if (!activity.networks.empty())
    add(text.details, "networks",
        quoteJson(llvm::join(activity.networks, " ")));
  if (!activity.ranks.empty())
    add(text.details, "ranks", quoteJson(getRanks(activity)));
  return text;
}

StringRef makeRate(const Activity &activity, Nanoseconds duration,
                   llvm::SmallVectorImpl<char> &storage) {
  const bool computes = activity.engine == Engine::Cube && activity.flops > 0 &&
                        activity.category == Category::Kernel;
  const auto amount =
      static_cast<double>(computes ? activity.flops : activity.bytes);
  if (duration <= 0 || amount <= 0)
    return {};
  storage.clear();
  llvm::raw_svector_ostream os(storage);
  // The rate is an amount per nanosecond, of which there are 10^9 in a second.
  if (computes)
    os << "\"TFLOP/s\":"
       << llvm::format("%.4g", amount / static_cast<double>(duration) / 1000);
  else
    os << "\"GB/s\":"
       << llvm::format("%.4g", amount / static_cast<double>(duration));
  return os.str();
}

} // namespace mf::timeline

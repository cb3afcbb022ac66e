//===- ProfileJson.cpp - The JSON files of a profile ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileTable.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace mf::calibration {

static Expected<json::Object> parseObject(StringRef path, StringRef text) {
  auto fail = [&](const Twine &message) {
    return llvm::createStringError(path + ": " + message);
  };
  // The parser is recursive, so a file of many brackets would overflow the
  // stack.
  constexpr unsigned maximumDepth = 64;
  if (getNestingDepth(text) > maximumDepth)
    return fail("expected JSON that is less deeply nested");
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return fail("expected JSON: " + llvm::toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return fail("expected a JSON object");
  return std::move(*object);
}

/// Returns the members of an object in sorted order, because the parser's order
/// is that of a hash table.
static std::vector<std::pair<StringRef, const json::Value *>>
getSorted(const json::Object &object) {
  std::vector<std::pair<StringRef, const json::Value *>> members;
  for (const auto &[key, value] : object)
    members.emplace_back(StringRef(key), &value);
  llvm::sort(members, llvm::less_first());
  return members;
}

namespace {

class CommunicationReader {
public:
  CommunicationReader(StringRef path, uint32_t folder, Profile &profile)
      : path(path), folder(folder), profile(profile) {}

  Error readSteps(const json::Object &steps) {
    for (const auto &[name, value] : getSorted(steps)) {
      const json::Object *kinds = value->getAsObject();
      if (!kinds)
        return fail("expected an object '" + name + "'");
      int64_t step = 0;
      StringRef number = name;
      number.consume_front("step");
      if (!number.empty() && number.getAsInteger(10, step))
        step = 0;
      for (const char *kind : {"collective", "p2p"}) {
        const json::Object *transfers = kinds->getObject(kind);
        if (!transfers)
          continue;
        for (const auto &[key, transfer] : getSorted(*transfers)) {
          const json::Object *object = transfer->getAsObject();
          if (!object)
            return fail("expected an object '" + key + "'");
          // This entry has the sums over all others.
          if (key.starts_with("Total Op Info"))
            continue;
          if (Error error = readTransfer(key, *object, step))
            return error;
        }
      }
    }
    return Error::success();
  }

private:
  Error fail(const Twine &message) const {
    return llvm::createStringError(path + ": " + message);
  }

  /// Returns a member of `owner`, which must be a number from 0 to `most`.
  Expected<double> getNumber(const json::Object &object, StringRef owner,
                             StringRef name, double most) const {
    const std::optional<double> number = object.getNumber(name);
    if (!number || !isWithin(*number, most))
      return fail(llvm::formatv("'{0}': expected '{1}', a number from 0 to {2}",
                                owner, name, llvm::format("%g", most))
                      .str());
    return *number;
  }

  Error readTransfer(StringRef key, const json::Object &transfer,
                     int64_t step) {
    constexpr double secondsPerMillisecond = 1e-3, bytesPerMegabyte = 1e6,
                     mostMegabytes = 1e9;
    const json::Object *times = transfer.getObject("Communication Time Info");
    if (!times)
      return fail("'" + key +
                  "': expected an object 'Communication Time Info'");
    Expected<double> elapsed =
        getNumber(*times, key, "Elapse Time(ms)", mostOfProfile);
    if (!elapsed)
      return elapsed.takeError();
    Expected<double> wait =
        getNumber(*times, key, "Wait Time(ms)", mostOfProfile);
    if (!wait)
      return wait.takeError();
    ProfiledTransfer row;
    std::tie(row.name, row.group) = key.split('@');
    row.step = step;
    row.folder = folder;
    row.seconds = std::max(0.0, *elapsed - *wait) * secondsPerMillisecond;
    if (const json::Object *links =
            transfer.getObject("Communication Bandwidth Info"))
      for (const auto &[link, value] : getSorted(*links)) {
        const json::Object *info = value->getAsObject();
        if (!info)
          return fail("'" + key + "': expected an object '" + link + "'");
        Expected<double> size =
            getNumber(*info, key, "Transit Size(MB)", mostMegabytes);
        if (!size)
          return size.takeError();
        if (*size > 0)
          row.bytesByLink[link.str()] = *size * bytesPerMegabyte;
      }
    profile.transfers.push_back(std::move(row));
    return Error::success();
  }

  StringRef path;
  uint32_t folder;
  Profile &profile;
};

} // namespace

Error readCommunication(StringRef path, StringRef text, uint32_t folder,
                        Profile &profile) {
  Expected<json::Object> steps = parseObject(path, text);
  if (!steps)
    return steps.takeError();
  return CommunicationReader(path, folder, profile).readSteps(*steps);
}

/// Reads what mf-run says of the step, which is the same on all ranks.
static Error readCompilation(StringRef path, const json::Object &metadata,
                             uint32_t folder, Profile &profile) {
  target::Compilation compilation;
  if (const json::Object *said = metadata.getObject("compilation")) {
    const std::optional<StringRef> level = said->getString("jit_level");
    const std::optional<double> filled = said->getNumber("filled_rows");
    if ((level != "O0" && level != "O1") || !filled || !(*filled > 0))
      return llvm::createStringError(
          path + ": 'compilation': expected 'jit_level', O0 or O1, and "
                 "'filled_rows', a number above 0");
    compilation.graphKernelFusion = level == "O1";
    compilation.filledRows = *filled;
  }
  if (folder > 0 &&
      (compilation.graphKernelFusion != profile.compilation.graphKernelFusion ||
       compilation.filledRows != profile.compilation.filledRows))
    return llvm::createStringError(path + ": 'compilation' is not that of " +
                                   profile.folders.front());
  profile.compilation = compilation;
  return Error::success();
}

Error readMetadata(StringRef path, StringRef text, uint32_t folder,
                   Profile &profile) {
  Expected<json::Object> metadata = parseObject(path, text);
  if (!metadata)
    return metadata.takeError();
  if (Error error = readCompilation(path, *metadata, folder, profile))
    return error;
  const json::Object *groups = metadata->getObject("parallel_group_info");
  if (!groups)
    return Error::success();
  for (const auto &[name, value] : getSorted(*groups)) {
    const json::Object *group = value->getAsObject();
    const json::Array *ranks =
        group ? group->getArray("global_ranks") : nullptr;
    if (!ranks)
      return llvm::createStringError(path + ": group '" + name +
                                     "': expected a list 'global_ranks'");
    std::vector<int64_t> &members = profile.groups[{folder, name.str()}];
    members.clear();
    for (const json::Value &rank : *ranks) {
      const std::optional<int64_t> number = rank.getAsInteger();
      if (!number || *number < 0 || *number > INT32_MAX)
        return llvm::createStringError(path + ": group '" + name +
                                       "': expected ranks, whole numbers from "
                                       "0 to 2147483647");
      members.push_back(*number);
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Copies of trace_view.json
//
// A trace may have gigabytes of events, of which few are copies. So the file is
// searched for its events, and only those of copies are parsed.
//===----------------------------------------------------------------------===//

namespace {

class TraceReader {
public:
  TraceReader(StringRef path, StringRef text, uint32_t folder, Profile &profile)
      : path(path), text(text), folder(folder), profile(profile) {}

  Error read() {
    for (size_t position = 0; position < text.size(); ++position)
      switch (text[position]) {
      case '"':
        position = skipString(position);
        break;
      case '[':
      case '{':
        open.push_back(position);
        break;
      case ']':
      case '}':
        if (Error error = close(position))
          return error;
        break;
      default:
        break;
      }
    if (!open.empty())
      return fail(open.back(), llvm::Twine("'") +
                                   llvm::Twine(text[open.back()]) +
                                   "' is not closed before the file ends");
    return Error::success();
  }

private:
  Error fail(size_t position, const llvm::Twine &message) const {
    const size_t line = text.take_front(position).count('\n') + 1;
    return llvm::createStringError(path + ":" + llvm::Twine(line) + ": " +
                                   message);
  }

  /// Returns the position of the quote that ends the string which begins at
  /// `position`, or of the end of the text.
  size_t skipString(size_t position) const {
    for (++position; position < text.size() && text[position] != '"';
         ++position)
      if (text[position] == '\\')
        ++position;
    return std::min(position, text.size());
  }

  /// Handles a bracket that closes. The objects in an array that is not in an
  /// event are the events.
  Error close(size_t position) {
    if (open.empty() || (text[open.back()] == '[') != (text[position] == ']'))
      return fail(position, llvm::Twine("'") + llvm::Twine(text[position]) +
                                "' closes nothing that is open");
    const size_t begin = open.back();
    open.pop_back();
    const bool isEvent = text[position] == '}' && !open.empty() &&
                         text[open.back()] == '[' && open.size() <= 2;
    return isEvent ? addEvent(begin, position + 1) : Error::success();
  }

  Error addEvent(size_t begin, size_t end) {
    constexpr double secondsPerMicrosecond = 1e-6;
    const StringRef event = text.slice(begin, end);
    if (!event.contains("\"MEMCPY_ASYNC\""))
      return Error::success();
    constexpr unsigned maximumDepth = 64;
    Expected<json::Value> value = parseStrictJson(event, maximumDepth);
    if (!value)
      return fail(begin, "expected JSON: " + llvm::toString(value.takeError()));
    const json::Object &members = *value->getAsObject();
    const json::Object *args = members.getObject("args");
    if (members.getString("ph") != "X" || !args ||
        args->getString("Task Type") != "MEMCPY_ASYNC")
      return Error::success();
    Expected<double> start = getMicroseconds(members, "ts", begin);
    if (!start)
      return start.takeError();
    Expected<double> duration = getMicroseconds(members, "dur", begin);
    if (!duration)
      return duration.takeError();
    profile.copies.push_back({folder, *start * secondsPerMicrosecond,
                              *duration * secondsPerMicrosecond});
    return Error::success();
  }

  /// Profilers write times as numbers, or as strings where these have more
  /// digits than a double.
  Expected<double> getMicroseconds(const json::Object &event, StringRef key,
                                   size_t position) const {
    double value = 0;
    if (std::optional<double> number = event.getNumber(key))
      value = *number;
    else if (std::optional<StringRef> digits = event.getString(key);
             !digits || digits->getAsDouble(value))
      return fail(position, "a copy: expected the number '" + key + "'");
    if (!(value >= 0) || value > 1e18)
      return fail(position, "a copy: '" + key + "' is out of range");
    return value;
  }

  StringRef path, text;
  uint32_t folder;
  Profile &profile;
  /// The positions of the brackets that are open.
  std::vector<size_t> open;
};

} // namespace

Error readTraceCopies(StringRef path, StringRef text, uint32_t folder,
                      Profile &profile) {
  return TraceReader(path, text, folder, profile).read();
}

} // namespace mf::calibration

//===- TraceCopies.cpp - Copies of trace_view.json ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A trace may have gigabytes of events, of which few are copies. So the file is
// searched for its events, and only those of copies are parsed.
//
//===----------------------------------------------------------------------===//

#include "ProfileTable.h"
#include "mf/Support/StrictJson.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

namespace mf::calibration {

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

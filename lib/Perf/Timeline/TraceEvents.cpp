//===- TraceEvents.cpp - Chrome trace events ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TraceEvents.h"
#include "llvm/Support/JSON.h"

using llvm::StringRef;

namespace mf::timeline {

std::string quoteJson(StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  os << llvm::json::Value(llvm::json::fixUTF8(text));
  return quoted;
}

TraceEvents::TraceEvents(llvm::raw_ostream &os) : os(os) { os << '['; }

void TraceEvents::finish() { os << "\n]"; }

void TraceEvents::begin(char phase, int64_t process) {
  os << (isFirst ? "\n" : ",\n") << "{\"ph\":\"" << phase
     << "\",\"pid\":" << process;
  isFirst = false;
}

void TraceEvents::addTrackAndTime(TrackId track, Nanoseconds time) {
  os << ",\"tid\":" << track.thread << ",\"ts\":";
  printMicroseconds(os, time);
}

void TraceEvents::addMetadata(StringRef name, int64_t process,
                              const int64_t *thread, StringRef key,
                              StringRef quotedValue) {
  begin('M', process);
  if (thread)
    os << ",\"tid\":" << *thread;
  os << ",\"name\":\"" << name << "\",\"args\":{\"" << key
     << "\":" << quotedValue << "}}";
}

void TraceEvents::nameProcess(int64_t process, StringRef name, int64_t position,
                              StringRef labels) {
  addMetadata("process_name", process, nullptr, "name", quoteJson(name));
  addMetadata("process_sort_index", process, nullptr, "sort_index",
              std::to_string(position));
  if (!labels.empty())
    addMetadata("process_labels", process, nullptr, "labels",
                quoteJson(labels));
}

void TraceEvents::nameThread(TrackId track, StringRef name, int64_t position) {
  addMetadata("thread_name", track.process, &track.thread, "name",
              quoteJson(name));
  addMetadata("thread_sort_index", track.process, &track.thread, "sort_index",
              std::to_string(position));
}

void TraceEvents::beginSlice(TrackId track, Nanoseconds start, Nanoseconds end,
                             StringRef quotedName) {
  begin('X', track.process);
  addTrackAndTime(track, start);
  os << ",\"dur\":";
  printMicroseconds(os, end - start);
  os << ",\"name\":" << quotedName;
  hasArgs = false;
}

void TraceEvents::addArgs(StringRef args) {
  if (args.empty())
    return;
  os << (hasArgs ? "," : ",\"args\":{") << args;
  hasArgs = true;
}

void TraceEvents::endSlice() { os << (hasArgs ? "}}" : "}"); }

void TraceEvents::addFlow(char phase, TrackId track, Nanoseconds time,
                          int64_t id) {
  begin(phase, track.process);
  addTrackAndTime(track, time);
  os << ",\"id\":" << id << ",\"cat\":\"message\",\"name\":\"message\"";
  // This lets the arrow bind to the enclosing slice, instead of the next one.
  if (phase == 'f')
    os << ",\"bp\":\"e\"";
  os << '}';
}

void TraceEvents::addFlowBegin(TrackId track, Nanoseconds time, int64_t id) {
  addFlow('s', track, time, id);
}

void TraceEvents::addFlowEnd(TrackId track, Nanoseconds time, int64_t id) {
  addFlow('f', track, time, id);
}

void TraceEvents::addCounter(int64_t process, Nanoseconds time,
                             StringRef quotedName, StringRef quotedUnit,
                             int64_t value) {
  begin('C', process);
  os << ",\"ts\":";
  printMicroseconds(os, time);
  os << ",\"name\":" << quotedName << ",\"args\":{" << quotedUnit << ':'
     << value << "}}";
}

} // namespace mf::timeline

//===- TraceEvents.h - Chrome trace events ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Events of the trace format that Chrome, Perfetto and MindSpore's profiler
// have in common. They are written one after the other without spaces, because
// a trace has hundreds of thousands of events, and the time that a viewer takes
// depends on their bytes.
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_TRACEEVENTS_H
#define MF_LIB_PERF_TIMELINE_TRACEEVENTS_H

#include "TimelineText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace mf::timeline {

/// A process and one of its threads.
struct TrackId {
  int64_t process = 0;
  int64_t thread = 0;
};

/// Returns a text as a JSON string, in quotes. Bytes that are not UTF-8 are
/// replaced.
inline std::string quoteJson(llvm::StringRef text) {
  std::string quoted;
  llvm::raw_string_ostream os(quoted);
  os << llvm::json::Value(llvm::json::fixUTF8(text));
  return quoted;
}

/// Writes a JSON array of events. Parameters whose names begin with `quoted`
/// must be JSON already (quoteJson), because they are written many times.
class TraceEvents {
public:
  explicit TraceEvents(llvm::raw_ostream &os) : os(os) { os << '['; }
  /// Ends the array of events.
  void finish() { os << "\n]"; }

  /// Names a process and sets its position among others. `labels` are shown
  /// next to the name and may be empty.
  void nameProcess(int64_t process, llvm::StringRef name, int64_t position,
                   llvm::StringRef labels) {
    addMetadata("process_name", process, nullptr, "name", quoteJson(name));
    addMetadata("process_sort_index", process, nullptr, "sort_index",
                std::to_string(position));
    if (!labels.empty())
      addMetadata("process_labels", process, nullptr, "labels",
                  quoteJson(labels));
  }

  void nameThread(TrackId track, llvm::StringRef name, int64_t position) {
    addMetadata("thread_name", track.process, &track.thread, "name",
                quoteJson(name));
    addMetadata("thread_sort_index", track.process, &track.thread, "sort_index",
                std::to_string(position));
  }

  /// Adds a slice from `start` to `end`. Arguments are members of an object,
  /// such as "\"kind\":\"matmul\"", and may be empty.
  void addSlice(TrackId track, Nanoseconds start, Nanoseconds end,
                llvm::StringRef quotedName, llvm::StringRef args) {
    beginSlice(track, start, end, quotedName);
    addArgs(args);
    endSlice();
  }

  /// Write a slice in parts: all arguments added between begin and end belong
  /// to it.
  void beginSlice(TrackId track, Nanoseconds start, Nanoseconds end,
                  llvm::StringRef quotedName) {
    begin('X', track.process);
    addTrackAndTime(track, start);
    os << ",\"dur\":";
    printMicroseconds(os, end - start);
    os << ",\"name\":" << quotedName;
    hasArgs = false;
  }

  void addArgs(llvm::StringRef args) {
    if (args.empty())
      return;
    os << (hasArgs ? "," : ",\"args\":{") << args;
    hasArgs = true;
  }
  void endSlice() { os << (hasArgs ? "}}" : "}"); }

  /// Write the two ends of an arrow between slices. At each end, a slice must
  /// be open at `time` on `track`. All sources must be written before all
  /// targets.
  void addFlowBegin(TrackId track, Nanoseconds time, int64_t id) {
    addFlow('s', track, time, id);
  }
  void addFlowEnd(TrackId track, Nanoseconds time, int64_t id) {
    addFlow('f', track, time, id);
  }

  /// Adds a value that a counter has from `time` on.
  void addCounter(int64_t process, Nanoseconds time, llvm::StringRef quotedName,
                  llvm::StringRef quotedUnit, int64_t value) {
    begin('C', process);
    os << ",\"ts\":";
    printMicroseconds(os, time);
    os << ",\"name\":" << quotedName << ",\"args\":{" << quotedUnit << ':'
       << value << "}}";
  }

private:
  /// Writes `{"ph":"X","pid":1`, preceded by a comma.
  void begin(char phase, int64_t process) {
    os << (isFirst ? "\n" : ",\n") << "{\"ph\":\"" << phase
       << "\",\"pid\":" << process;
    isFirst = false;
  }
  void addTrackAndTime(TrackId track, Nanoseconds time) {
    os << ",\"tid\":" << track.thread << ",\"ts\":";
    printMicroseconds(os, time);
  }

  void addMetadata(llvm::StringRef name, int64_t process, const int64_t *thread,
                   llvm::StringRef key, llvm::StringRef quotedValue) {
    begin('M', process);
    if (thread)
      os << ",\"tid\":" << *thread;
    os << ",\"name\":\"" << name << "\",\"args\":{\"" << key
       << "\":" << quotedValue << "}}";
  }

  void addFlow(char phase, TrackId track, Nanoseconds time, int64_t id) {
    begin(phase, track.process);
    addTrackAndTime(track, time);
    os << ",\"id\":" << id << ",\"cat\":\"message\",\"name\":\"message\"";
    // This lets the arrow bind to the enclosing slice, instead of the next one.
    if (phase == 'f')
      os << ",\"bp\":\"e\"";
    os << '}';
  }

  llvm::raw_ostream &os;
  bool isFirst = true;
  bool hasArgs = false;
};

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_TRACEEVENTS_H

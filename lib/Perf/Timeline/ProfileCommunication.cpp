//===- ProfileCommunication.cpp - Collectives and messages in a profile ---===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using llvm::StringRef;

namespace mf::timeline {

namespace {

class CommunicationPrinter {
public:
  CommunicationPrinter(const RankProfile &profile, llvm::raw_ostream &os)
      : profile(profile), json(os) {}

  void print() {
    json.object([&] {
      json.attributeObject("step" + std::to_string(profiledStep), [&] {
        json.attributeObject("p2p", [&] { printTasks(false); });
        json.attributeObject("collective", [&] { printTasks(true); });
      });
    });
  }

private:
  void printTasks(bool isCollective) {
    for (size_t number = 0; number < profile.device.tasks.size(); ++number) {
      const DeviceTask &task = profile.device.tasks[number];
      const Activity &activity = *task.activity;
      if (!task.isCommunication() ||
          (activity.category == Category::Collective) != isCollective)
        continue;
      json.attributeObject(llvm::json::fixUTF8(profile.names[number] + "@" +
                                               profile.groups[number]),
                           [&] {
                             printTimes(task.start, task.end - task.start,
                                        task.transferStart - task.start);
                             printBandwidth(activity,
                                            task.end - task.transferStart);
                           });
    }
  }

  void printTimes(Nanoseconds start, Nanoseconds elapsed, Nanoseconds wait) {
    json.attributeObject("Communication Time Info", [&] {
      std::string text;
      llvm::raw_string_ostream os(text);
      printPaddedMicroseconds(os, start);
      json.attributeBegin("Start Timestamp(us)");
      json.rawValue(text);
      json.attributeEnd();
      addMilliseconds("Elapse Time(ms)", elapsed);
      addMilliseconds("Transit Time(ms)", elapsed - wait);
      addMilliseconds("Wait Time(ms)", wait);
      addMilliseconds("Synchronization Time(ms)", wait);
      addMilliseconds("Idle Time(ms)", 0);
      const double ratio =
          elapsed > 0 ? static_cast<double>(wait) / static_cast<double>(elapsed)
                      : 0;
      addNumber("Wait Time Ratio", ratio);
      addNumber("Synchronization Time Ratio", ratio);
    });
  }

  void printBandwidth(const Activity &activity, Nanoseconds time) {
    json.attributeObject("Communication Bandwidth Info", [&] {
      // If there are several networks, their shares of the bytes are not known,
      // so they count as one.
      const std::string networks =
          activity.networks.empty()
              ? "UNKNOWN"
              : StringRef(llvm::join(activity.networks, "+")).upper();
      json.attributeObject(llvm::json::fixUTF8(networks), [&] {
        const double bytes = getSentBytes(activity);
        addNumber("Transit Size(MB)", bytes / 1e6);
        addMilliseconds("Transit Time(ms)", time);
        addNumber("Bandwidth(GB/s)",
                  time > 0 ? bytes / static_cast<double>(time) : 0);
      });
    });
  }

  void addMilliseconds(StringRef key, Nanoseconds time) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printPaddedMilliseconds(os, time);
    json.attributeBegin(key);
    json.rawValue(text);
    json.attributeEnd();
  }

  void addNumber(StringRef key, double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6f", value);
    json.attributeBegin(key);
    json.rawValue(text);
    json.attributeEnd();
  }

  const RankProfile &profile;
  llvm::json::OStream json;
};

} // namespace

void printCommunication(const RankProfile &profile, llvm::raw_ostream &os) {
  CommunicationPrinter(profile, os).print();
  os << '\n';
}

void printMetadata(const RankProfile &profile, llvm::raw_ostream &os) {
  llvm::json::OStream json(os);
  const StepTimeline &timeline = profile.timeline;
  json.object([&] {
    // The profiler does not have this, but times of a simulation depend on it.
    if (timeline.isSimulated)
      json.attributeObject("compilation", [&] {
        json.attribute("jit_level", timeline.graphKernelFusion ? "O1" : "O0");
        json.attribute("filled_rows", timeline.filledRows);
      });
    json.attributeObject("parallel_group_info", [&] {
      for (const auto &entry : profile.groupRanks) {
        const std::string name = llvm::json::fixUTF8(entry.first);
        json.attributeObject(name, [&] {
          json.attribute("group_name", name);
          json.attribute("rank_size", entry.second.size());
          json.attribute("global_ranks", llvm::json::Array(entry.second));
        });
      }
    });
  });
  os << '\n';
}

} // namespace mf::timeline

//===- ProfileTables.cpp - Kernels and the step in a profile --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

using llvm::raw_ostream;
using llvm::StringRef;

namespace mf::timeline {

namespace {

/// Returns the name of an element type in CANN's files.
StringRef getTypeName(DType type) {
  switch (type) {
  case DType::F32:
    return "FLOAT";
  case DType::BF16:
    return "DT_BF16";
  case DType::F16:
    return "FLOAT16";
  case DType::I32:
    return "INT32";
  case DType::I64:
    return "INT64";
  case DType::I1:
    return "UINT8";
  }
  llvm_unreachable("covers all types");
}

/// Prints shapes, element types and formats in three columns:
/// `"2,4;4",FLOAT;INT32,ND;ND`.
void printOperands(raw_ostream &os, llvm::ArrayRef<TensorShape> operands) {
  if (operands.empty()) {
    os << "N/A,N/A,N/A";
    return;
  }
  os << '"';
  llvm::interleave(
      operands, os,
      [&](const TensorShape &shape) { llvm::interleave(shape.dims, os, ","); },
      ";");
  os << "\",";
  llvm::interleave(
      operands, os,
      [&](const TensorShape &shape) { os << getTypeName(shape.type); }, ";");
  os << ',';
  llvm::interleave(operands, os, [&](const TensorShape &) { os << "ND"; }, ";");
}

/// Times of all tasks of a type.
struct TypeTimes {
  int64_t count = 0;
  Nanoseconds total = 0;
  Nanoseconds shortest = 0;
  Nanoseconds longest = 0;

  void add(Nanoseconds time) {
    shortest = count == 0 ? time : std::min(shortest, time);
    longest = std::max(longest, time);
    total += time;
    ++count;
  }
};

} // namespace

void printKernelDetails(const RankProfile &profile, raw_ostream &os) {
  os << "Step ID,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,"
        "Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,"
        "Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,"
        "Input Formats,Output Shapes,Output Data Types,Output Formats,"
        "Context ID\n";
  for (const auto &[number, task] : llvm::enumerate(profile.device.tasks)) {
    if (task.isCopy())
      continue;
    const Activity &activity = *task.activity;
    // This model number says that kernels are launched one by one.
    os << profiledStep << ',' << profile.stage.rank << ",4294967295," << number
       << ',' << task.stream << ',';
    printCsvText(os, profile.names[number]);
    os << ',';
    printCsvText(os, getOperatorType(activity));
    os << ",static," << getAcceleratorCore(activity) << ',';
    printPaddedMicroseconds(os, task.start);
    os << ',';
    printPaddedMicroseconds(os, task.end - task.start);
    os << ',';
    printPaddedMicroseconds(os, task.wait);
    // The distribution of a kernel over cores is not known.
    os << ",0,0,NO,";
    printOperands(os, activity.inputs);
    os << ',';
    printOperands(os, activity.outputs);
    os << ",N/A\n";
  }
}

void printOperatorStatistic(const RankProfile &profile, raw_ostream &os) {
  std::map<std::pair<std::string, StringRef>, TypeTimes> times;
  Nanoseconds total = 0;
  for (const DeviceTask &task : profile.device.tasks) {
    if (task.isCopy())
      continue;
    times[{getOperatorType(*task.activity), getAcceleratorCore(*task.activity)}]
        .add(task.end - task.start);
    total += task.end - task.start;
  }
  std::vector<decltype(times)::const_pointer> order;
  for (const auto &entry : times)
    order.push_back(&entry);
  llvm::sort(order, [](const auto *left, const auto *right) {
    return std::tie(right->second.total, left->first) <
           std::tie(left->second.total, right->first);
  });
  os << "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),"
        "Avg Time(us),Max Time(us),Ratio(%)\n";
  for (const auto *entry : order) {
    const TypeTimes &type = entry->second;
    os << profile.stage.rank << ',';
    printCsvText(os, entry->first.first);
    os << ',' << entry->first.second << ',' << type.count;
    for (Nanoseconds time :
         {type.total, type.shortest, type.total / type.count, type.longest}) {
      os << ',';
      printPaddedMicroseconds(os, time);
    }
    os << ',';
    // In thousandths of a percent, a share has as many decimals as microseconds
    // have for nanoseconds.
    const double share =
        total > 0 ? static_cast<double>(type.total) / static_cast<double>(total)
                  : 0;
    printPaddedMicroseconds(os, toNanoseconds(share * 1e-4));
    os << '\n';
  }
}

void printStepTraceTime(const RankProfile &profile, raw_ostream &os) {
  os << "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,"
        "Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n";
  const DeviceTasks &device = profile.device;
  const Nanoseconds communication = device.communication.getLength();
  const Nanoseconds exposed = device.exposedCommunication.getLength();
  const Nanoseconds bubble = device.receiving.getLength();
  const Nanoseconds preparing =
      device.tasks.empty() ? device.step : device.tasks.front().start;
  os << profile.stage.rank << ',' << profiledStep;
  for (Nanoseconds time :
       {device.computing.getLength(), exposed, communication - exposed,
        communication, device.free.getLength(), device.step - bubble, bubble,
        device.exposedCommunication.subtract(device.receiving).getLength(),
        preparing}) {
    os << ',';
    printPaddedMicroseconds(os, time);
  }
  os << '\n';
}

} // namespace mf::timeline

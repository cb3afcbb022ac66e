//===- ProcessReports.cpp - Measurements of all processes -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProcessReports.h"
#include <cstring>

using namespace mf::ranks;

namespace mf::runner {

namespace {

/// Converts values to bytes, or bytes back to values. All processes are of one
/// build, so that values have the same representation.
class Archive {
public:
  Archive() = default;
  explicit Archive(std::string text)
      : bytes(std::move(text)), isReading(true) {}

  const std::string &getBytes() const { return bytes; }
  bool isAtEnd() const { return position == bytes.size(); }

  template <typename Number>
  std::enable_if_t<std::is_arithmetic_v<Number>> pass(Number &value) {
    passBytes(reinterpret_cast<char *>(&value), sizeof(value));
  }
  void pass(std::string &text) {
    uint64_t size = text.size();
    pass(size);
    if (isReading)
      text.resize(size);
    passBytes(text.data(), size);
  }
  void pass(std::vector<float> &values) {
    uint64_t size = values.size();
    pass(size);
    if (isReading)
      values.resize(size);
    passBytes(reinterpret_cast<char *>(values.data()), size * sizeof(float));
  }
  template <typename Key, typename Value>
  void pass(std::map<Key, Value> &entries) {
    uint64_t size = entries.size();
    pass(size);
    std::vector<std::pair<Key, Value>> list(entries.begin(), entries.end());
    list.resize(size);
    for (auto &[key, value] : list) {
      pass(key);
      pass(value);
    }
    if (isReading)
      entries = {list.begin(), list.end()};
  }

private:
  void passBytes(char *data, uint64_t size) {
    if (!isReading)
      bytes.append(data, size);
    else if (size > 0)
      std::memcpy(data, bytes.data() + position, size);
    position += size;
  }

  std::string bytes;
  bool isReading = false;
  size_t position = 0;
};

} // namespace

static void pass(Archive &archive, StepReports &reports) {
  archive.pass(reports.losses);
  archive.pass(reports.lossParts);
  archive.pass(reports.globalNorms);
  archive.pass(reports.overflows);
  archive.pass(reports.dropRates);
}

static void pass(Archive &archive, RankMeasurement &rank) {
  archive.pass(rank.rank);
  archive.pass(rank.stage);
  archive.pass(rank.plannedBytes);
  archive.pass(rank.peakBytes);
  archive.pass(rank.usedBytes);
  archive.pass(rank.hostBytes);
  archive.pass(rank.hostUsedBytes);
  archive.pass(rank.bytesAtPeak);
  archive.pass(rank.stallSeconds);
  archive.pass(rank.operatorStallSeconds);
}

llvm::Error gatherReports(ProcessGroup &processes, StepReports &reports) {
  Archive own;
  pass(own, reports);
  auto gathered = processes.gatherAll(own.getBytes());
  if (!gathered)
    return gathered.takeError();
  reports = {};
  for (const std::string &text : *gathered) {
    Archive archive(text);
    StepReports part;
    pass(archive, part);
    auto append = [](StepReports::ByStage &to,
                     const StepReports::ByStage &from) {
      for (const auto &[stage, values] : from)
        to[stage].insert(to[stage].end(), values.begin(), values.end());
    };
    append(reports.losses, part.losses);
    for (const auto &[quantity, values] : part.lossParts)
      append(reports.lossParts[quantity], values);
    append(reports.globalNorms, part.globalNorms);
    append(reports.overflows, part.overflows);
    for (const auto &[quantity, values] : part.dropRates) {
      std::vector<float> &rows = reports.dropRates[quantity];
      rows.insert(rows.end(), values.begin(), values.end());
    }
  }
  return llvm::Error::success();
}

llvm::Error gatherMeasurements(ProcessGroup &processes,
                               std::vector<RankMeasurement> &ranks) {
  Archive own;
  for (RankMeasurement &rank : ranks)
    pass(own, rank);
  auto gathered = processes.gatherAll(own.getBytes());
  if (!gathered)
    return gathered.takeError();
  ranks.clear();
  for (const std::string &text : *gathered)
    for (Archive archive(text); !archive.isAtEnd();)
      pass(archive, ranks.emplace_back());
  return llvm::Error::success();
}

} // namespace mf::runner

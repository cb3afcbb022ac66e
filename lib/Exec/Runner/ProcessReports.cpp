//===- ProcessReports.cpp - Measurements of all processes -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProcessReports.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <map>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Values of all ranks
//===----------------------------------------------------------------------===//

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
  /// Passes a vector of values that are copied as bytes.
  template <typename Value> void pass(std::vector<Value> &values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    uint64_t size = values.size();
    pass(size);
    if (isReading)
      values.resize(size);
    passBytes(reinterpret_cast<char *>(values.data()), size * sizeof(Value));
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

static void pass(Archive &archive, RankRecord &rank) {
  archive.pass(rank.rank);
  uint64_t size = rank.streams.size();
  archive.pass(size);
  rank.streams.resize(size);
  for (std::vector<RecordedWork> &works : rank.streams)
    archive.pass(works);
}

/// Replaces the values of the ranks of this process by those of all ranks, in
/// the order of processes.
template <typename Value>
static llvm::Error gatherRanks(ProcessGroup &processes,
                               std::vector<Value> &ranks) {
  Archive own;
  for (Value &rank : ranks)
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
  return gatherRanks(processes, ranks);
}

llvm::Error gatherRecords(ProcessGroup &processes, StepRecord &record) {
  if (llvm::Error error = gatherRanks(processes, record.ranks))
    return error;
  llvm::sort(record.ranks, [](const RankRecord &a, const RankRecord &b) {
    return a.rank < b.rank;
  });
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

namespace {

/// Identifies an exchange by its channel, its ranks, and its number among the
/// exchanges of these ranks on the channel.
using ExchangeKey = std::tuple<uint32_t, std::vector<int64_t>, uint64_t>;

class ExchangeVisitor {
public:
  ExchangeVisitor(const Program &program, RankRecord &rank)
      : program(program), rank(rank), stage(program.getStageOf(rank.rank)) {}

  /// Calls `visit(key, times)` for all exchanges of the rank.
  template <typename Visit> void run(Visit visit) {
    for (std::vector<RecordedWork> &works : rank.streams)
      for (RecordedWork &work : works)
        if (const Exchange *exchange = find(work))
          visit(getKey(*exchange), work.times);
  }

private:
  const Exchange *find(const RecordedWork &work) const {
    const Instruction &outer = stage.step.instructions[work.position];
    if (!work.instruction)
      return stage.step.getExchange(outer);
    const InstructionList &list =
        stage.routines[stage.step.getCall(outer)->routine].body;
    return list.getExchange(list.instructions[*work.instruction]);
  }

  /// Exchanges are numbered in the order of the records, which is the order on
  /// the channel because one stream has all of them.
  ExchangeKey getKey(const Exchange &exchange) {
    const Channel &channel = program.channels[exchange.channel];
    const bool isSend = !channel.isTransfer || exchange.isSend;
    return {exchange.channel,
            channel.getMembers(program.mesh, rank.rank, isSend),
            counts[{exchange.channel, isSend}]++};
  }

  const Program &program;
  RankRecord &rank;
  const StageProgram &stage;
  std::map<std::pair<uint32_t, bool>, uint64_t> counts;
};

} // namespace

void alignExchanges(const Program &program, StepRecord &record) {
  std::map<ExchangeKey, Clock::time_point> starts;
  for (RankRecord &rank : record.ranks)
    ExchangeVisitor(program, rank).run([&](ExchangeKey key, WorkTimes &times) {
      Clock::time_point &last = starts[std::move(key)];
      last = std::max(last, times.start);
    });
  for (RankRecord &rank : record.ranks)
    ExchangeVisitor(program, rank)
        .run([&](const ExchangeKey &key, WorkTimes &times) {
          times.start = std::min(starts.at(key), times.end);
        });
}

} // namespace mf::runner

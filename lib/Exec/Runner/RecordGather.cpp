//===- RecordGather.cpp - Records of several processes --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProcessReports.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <map>

using namespace mf::program;

namespace mf::runner {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {

/// A record of fixed size; processes are of one build.
struct SentWork {
  int64_t rank = 0;
  uint32_t stream = 0;
  uint32_t position = 0;
  int64_t instruction = -1;
  Clock::duration::rep start = 0;
  Clock::duration::rep end = 0;
};

} // namespace

static std::string pack(const StepRecord &record) {
  std::string text;
  for (const RankRecord &rank : record.ranks)
    for (auto [stream, works] : llvm::enumerate(rank.streams))
      for (const RecordedWork &work : works) {
        SentWork sent;
        sent.rank = rank.rank;
        sent.stream = static_cast<uint32_t>(stream);
        sent.position = work.position;
        if (work.instruction)
          sent.instruction = *work.instruction;
        sent.start = work.times.start.time_since_epoch().count();
        sent.end = work.times.end.time_since_epoch().count();
        text.append(reinterpret_cast<const char *>(&sent), sizeof(sent));
      }
  return text;
}

static void unpack(llvm::StringRef text, std::map<int64_t, RankRecord> &ranks) {
  for (; text.size() >= sizeof(SentWork);
       text = text.drop_front(sizeof(SentWork))) {
    SentWork sent;
    std::memcpy(&sent, text.data(), sizeof(sent));
    RankRecord &rank = ranks[sent.rank];
    rank.rank = sent.rank;
    if (rank.streams.size() <= sent.stream)
      rank.streams.resize(sent.stream + 1);
    RecordedWork &work = rank.streams[sent.stream].emplace_back();
    work.position = sent.position;
    if (sent.instruction >= 0)
      work.instruction = static_cast<uint32_t>(sent.instruction);
    work.times.start = Clock::time_point(Clock::duration(sent.start));
    work.times.end = Clock::time_point(Clock::duration(sent.end));
  }
}

llvm::Error gatherRecords(ProcessGroup &processes, StepRecord &record) {
  auto gathered = processes.gatherAll(pack(record));
  if (!gathered)
    return gathered.takeError();
  std::map<int64_t, RankRecord> ranks;
  for (const std::string &text : *gathered)
    unpack(text, ranks);
  record.ranks.clear();
  for (auto &[number, rank] : ranks)
    record.ranks.push_back(std::move(rank));
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

//===- Observations.cpp - Observed costs from a profile -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/Observations.h"
#include "mf/Perf/Calibration/Profile.h"
#include "mf/Program/Signatures/ProfiledKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <set>

using llvm::StringRef;

namespace mf::calibration {

namespace {

/// The kernels and exchanges of a profile by the time at which they ran, to
/// find what ran beside what. A row without a start time ran beside nothing.
class SideBySide {
public:
  explicit SideBySide(const Profile &profile) {
    for (const ProfiledExchange &exchange : profile.exchanges) {
      const double end = exchange.start + exchange.seconds;
      exchanges[exchange.folder].push_back({exchange.start, end, 0, &exchange});
      named[{exchange.folder, exchange.step, exchange.name}] = &exchange;
    }
    for (const ProfiledLaunch &launch : profile.launches)
      if (!launch.isCommunication())
        for (const ProfiledTime &time : launch.times)
          if (time.start)
            kernels[time.folder].push_back(
                {*time.start, *time.start + time.seconds, 0, nullptr});
    for (const ProfiledTransfer &transfer : profile.transfers) {
      auto found = named.find({transfer.folder, transfer.step, transfer.name});
      if (found == named.end())
        continue;
      const double end = found->second->start + found->second->seconds;
      moves[transfer.folder].push_back(
          {end - transfer.seconds, end, 0, found->second});
    }
    sort(kernels);
    sort(exchanges);
    sort(moves);
  }

  /// The rows beside which a row ran.
  struct Beside {
    /// The share of the row's time.
    double share = 0;
    /// The exchange that was there for most of it; null for kernels.
    const ProfiledExchange *exchange = nullptr;
  };
  /// Returns the exchanges beside which a kernel ran.
  Beside getExchanges(const ProfiledTime &kernel) const {
    if (!kernel.start)
      return {};
    return find(exchanges, kernel.folder, *kernel.start,
                *kernel.start + kernel.seconds);
  }

  /// Returns the kernels beside which the exchange of this name ran.
  Beside getKernels(uint32_t folder, int64_t step,
                    const std::string &name) const {
    auto found = named.find({folder, step, name});
    if (found == named.end())
      return {};
    const ProfiledExchange &exchange = *found->second;
    return find(kernels, folder, exchange.start,
                exchange.start + exchange.seconds);
  }

  /// Returns whether bytes of another exchange moved while those of this one
  /// did, so that both may have had the same links.
  bool sharesLinks(const ProfiledTransfer &transfer) const {
    // Clocks are not exact.
    constexpr double leastShare = 0.01;
    auto found = named.find({transfer.folder, transfer.step, transfer.name});
    if (found == named.end())
      return false;
    const double end = found->second->start + found->second->seconds;
    return find(moves, transfer.folder, end - transfer.seconds, end,
                found->second)
               .share > leastShare;
  }

private:
  struct Row {
    double start = 0;
    double end = 0;
    /// The latest end of this row and those before it.
    double lastEnd = 0;
    const ProfiledExchange *exchange = nullptr;
  };
  using Rows = std::map<uint32_t, std::vector<Row>>;
  static void sort(Rows &rows) {
    for (auto &[folder, all] : rows) {
      llvm::sort(all, [](const Row &one, const Row &other) {
        return std::tie(one.start, one.end) < std::tie(other.start, other.end);
      });
      double last = all.front().end;
      for (Row &row : all)
        row.lastEnd = last = std::max(last, row.end);
    }
  }

  /// Rows of the exchange `other` do not count.
  static Beside find(const Rows &rows, uint32_t folder, double start,
                     double end, const ProfiledExchange *other = nullptr) {
    Beside beside;
    auto found = rows.find(folder);
    if (found == rows.end() || end <= start)
      return beside;
    double covered = 0, from = start, most = 0;
    for (const Row *row = llvm::partition_point(
             llvm::ArrayRef(found->second),
             [&](const Row &other) { return other.lastEnd <= start; });
         row != found->second.data() + found->second.size() && row->start < end;
         ++row) {
      if (other && row->exchange == other)
        continue;
      const double common =
          std::min(end, row->end) - std::max(start, row->start);
      covered +=
          std::max(0.0, std::min(end, row->end) - std::max(from, row->start));
      from = std::max(from, row->end);
      if (common <= most)
        continue;
      most = common;
      beside.exchange = row->exchange;
    }
    beside.share = std::min(1.0, covered / (end - start));
    return beside;
  }

  /// The rows of each folder, in the order of time. Those of moves begin when
  /// an exchange has waited for all of its ranks.
  Rows kernels, exchanges, moves;
  std::map<std::tuple<uint32_t, int64_t, std::string>, const ProfiledExchange *>
      named;
};

} // namespace

//===----------------------------------------------------------------------===//
// RobustMean
//===----------------------------------------------------------------------===//

static double getMedian(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

RobustMean locate(llvm::ArrayRef<double> logSeconds) {
  constexpr double deviationOverMedian = 1.4826, farthest = 3.5;
  // Profilers round times; a value as near as this is no outlier.
  constexpr double nearest = 0.005;
  const double median = getMedian(logSeconds.vec());
  std::vector<double> distances;
  for (double value : logSeconds)
    distances.push_back(std::abs(value - median));
  const double reach =
      std::max(nearest, farthest * deviationOverMedian * getMedian(distances));
  double count = 0, sum = 0, squares = 0;
  for (double value : logSeconds)
    if (std::abs(value - median) <= reach) {
      count += 1;
      sum += value - median;
      squares += (value - median) * (value - median);
    }
  RobustMean location;
  const double mean = sum / count;
  location.logSeconds = median + mean;
  location.outliers =
      static_cast<int64_t>(logSeconds.size()) - static_cast<int64_t>(count);
  if (count > 1)
    location.error =
        std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1));
  return location;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// The properties that make transfers alike. The last is the share of their
/// time beside kernels, in parts.
using TransferKey =
    std::tuple<std::string, int64_t, std::vector<int64_t>, int64_t>;

/// Rows whose shares of time beside others are as near count as alike.
constexpr double parts = 64;
/// A row that is beside others for a smaller share of its time runs alone.
constexpr double leastShare = 0.01;

} // namespace

static std::string getKind(const ObservedTransfer &transfer) {
  return transfer.collective ? getName(*transfer.collective).str() : "message";
}

static std::vector<TensorShape>
getShapes(llvm::ArrayRef<ProfiledOperand> operands) {
  std::vector<TensorShape> shapes;
  for (const ProfiledOperand &operand : operands)
    if (operand.type)
      shapes.push_back({*operand.type, operand.dims});
  return shapes;
}

/// Returns, for example, "allreduce" for "hcom_allReduce__623_0_1".
static std::string getOperation(StringRef name) {
  name.consume_front("hcom_");
  return name.split("__").first.rtrim('_').lower();
}

static std::optional<CollectiveKind> findCollective(StringRef operation) {
  for (CollectiveKind kind : getCollectiveKinds()) {
    std::string known = getName(kind).str();
    llvm::erase(known, '_');
    if (operation == known)
      return kind;
  }
  return std::nullopt;
}

namespace {

class Observer {
public:
  explicit Observer(const Profile &profile)
      : profile(profile), sideBySide(profile) {}

  Observations run() {
    findFirstSteps();
    nameTransfers();
    findAloneTransfers();
    for (const ProfiledLaunch &launch : profile.launches)
      observeLaunch(launch);
    for (const ProfiledTransfer &transfer : profile.transfers)
      observeTransfer(transfer);
    for (Observation &observation : observations.all)
      observation.location = locate(observation.logSeconds);
    return std::move(observations);
  }

private:
  /// Finds the first of three steps or more, which loads kernels and touches
  /// memory for the first time.
  void findFirstSteps() {
    constexpr size_t enough = 3;
    std::map<uint32_t, std::map<int64_t, int64_t>> rows;
    for (const ProfiledLaunch &launch : profile.launches)
      for (const ProfiledTime &time : launch.times)
        ++rows[time.folder][time.step];
    for (const auto &[folder, steps] : rows)
      if (steps.size() >= enough)
        firstSteps[folder] = steps.begin()->first;
  }

  bool isWarmUp(int64_t step, uint32_t folder) const {
    const auto found = firstSteps.find(folder);
    return found != firstSteps.end() && found->second == step;
  }
  void nameTransfers() {
    for (const ProfiledTransfer &transfer : profile.transfers)
      if (std::optional<ObservedTransfer> observed = getTransfer(transfer))
        named[{transfer.folder, transfer.step, transfer.name}] =
            std::move(*observed);
  }

  void observeLaunch(const ProfiledLaunch &launch) {
    // communication.json has more details about these than this row.
    if (launch.isCommunication())
      return;
    const auto rows = static_cast<int64_t>(launch.times.size());
    const KernelSignature *signature = findProfiledKernel(launch.type);
    if (!signature) {
      observations.unknownTypes[launch.type] += rows;
      return;
    }
    std::optional<KernelSpec> spec = getProfiledSpec(
        *signature, getShapes(launch.inputs), getShapes(launch.outputs));
    if (!spec) {
      observations.unclear[launch.type] += rows;
      return;
    }
    Observation observation;
    observation.kind = signature->kind.str();
    ObservedLaunch what;
    what.signature = signature;
    what.spec = std::move(*spec);
    observation.what = std::move(what);
    addRows(launch, observation);
  }

  /// Rows beside the same exchanges, for as much of their time, are alike. Rows
  /// beside exchanges of which nothing is known are left out if there are
  /// others.
  void addRows(const ProfiledLaunch &launch, const Observation &alone) {
    struct Rows {
      const ObservedTransfer *beside = nullptr;
      double shares = 0;
      std::vector<double> logSeconds;
    };
    std::map<TransferKey, Rows> groups;
    std::vector<double> others;
    for (const ProfiledTime &time : launch.times) {
      if (isWarmUp(time.step, time.folder)) {
        ++observations.warmUpRows;
        continue;
      }
      if (time.seconds <= 0)
        continue;
      TransferKey key;
      const ObservedTransfer *transfer = nullptr;
      const SideBySide::Beside beside = sideBySide.getExchanges(time);
      if (beside.share > leastShare) {
        const ProfiledExchange &exchange = *beside.exchange;
        auto found =
            named.find({exchange.folder, exchange.step, exchange.name});
        if (found == named.end()) {
          others.push_back(std::log(time.seconds));
          continue;
        }
        transfer = &found->second;
        key = {getKind(*transfer), transfer->bytes, transfer->ranks,
               std::llround(parts * beside.share)};
      }
      Rows &rows = groups[key];
      rows.beside = transfer;
      rows.shares += transfer ? beside.share : 0;
      rows.logSeconds.push_back(std::log(time.seconds));
    }
    if (groups.empty() && !others.empty())
      groups[{}].logSeconds = std::move(others);
    for (auto &[key, rows] : groups) {
      Observation &added = observations.all.emplace_back(alone);
      added.logSeconds = std::move(rows.logSeconds);
      if (!rows.beside)
        continue;
      auto &what = std::get<ObservedLaunch>(added.what);
      what.beside = *rows.beside;
      what.besideExchange =
          rows.shares / static_cast<double>(added.logSeconds.size());
    }
  }

  void findAloneTransfers() {
    for (const ProfiledTransfer &transfer : profile.transfers)
      if (std::optional<ObservedTransfer> observed = getTransfer(transfer);
          observed && !isWarmUp(transfer.step, transfer.folder) &&
          !sideBySide.sharesLinks(transfer))
        alone.emplace(getKind(*observed), observed->ranks);
  }

  /// A transfer that shared its links with another one took longer. It is left
  /// out if others of its kind between the same ranks did not.
  void observeTransfer(const ProfiledTransfer &transfer) {
    std::optional<ObservedTransfer> observed = getTransfer(transfer);
    if (!observed) {
      ++observations.unclear[getOperation(transfer.name)];
      return;
    }
    if (isWarmUp(transfer.step, transfer.folder)) {
      ++observations.warmUpRows;
      return;
    }
    if (transfer.seconds <= 0)
      return;
    const double share =
        sideBySide.getKernels(transfer.folder, transfer.step, transfer.name)
            .share;
    observed->besideKernels = share > leastShare ? share : 0;
    const std::string kind = getKind(*observed);
    if (sideBySide.sharesLinks(transfer) &&
        alone.count({kind, observed->ranks}) != 0) {
      ++observations.sharedLinks[kind];
      return;
    }
    auto [entry, isNew] =
        transfers.try_emplace({kind, observed->bytes, observed->ranks,
                               std::llround(parts * observed->besideKernels)},
                              observations.all.size());
    if (isNew) {
      Observation &added = observations.all.emplace_back();
      added.kind = kind;
      added.what = std::move(*observed);
    }
    observations.all[entry->second].logSeconds.push_back(
        std::log(transfer.seconds));
  }

  std::optional<ObservedTransfer>
  getTransfer(const ProfiledTransfer &transfer) const {
    const auto group = profile.groups.find({transfer.folder, transfer.group});
    if (group == profile.groups.end() || group->second.size() < 2)
      return std::nullopt;
    const std::string operation = getOperation(transfer.name);
    ObservedTransfer observed;
    observed.ranks = group->second;
    observed.collective = findCollective(operation);
    if (!observed.collective) {
      const bool isMessage = operation == "send" || operation == "receive";
      // With more than two ranks, the profile does not show which two exchange
      // the message.
      if (!isMessage || observed.ranks.size() != 2)
        return std::nullopt;
    }
    // SDMA repeats the bytes of HCCS, PCIE and SIO.
    const bool hasSum = transfer.bytesByLink.count("SDMA") != 0;
    double sent = 0;
    for (const auto &[link, bytes] : transfer.bytesByLink)
      if (!hasSum || link == "SDMA" || link == "RDMA")
        sent += bytes;
    if (sent <= 0)
      return std::nullopt;
    const double share =
        observed.collective
            ? getSentShare(*observed.collective,
                           static_cast<int64_t>(observed.ranks.size()))
            : 1;
    constexpr double largest = 1e15;
    observed.bytes = std::llround(std::min(sent / share, largest));
    return observed;
  }

  const Profile &profile;
  SideBySide sideBySide;
  /// The exchanges of communication.json, by folder, step and name.
  std::map<std::tuple<uint32_t, int64_t, std::string>, ObservedTransfer> named;
  /// The kinds and ranks of exchanges of which rows did not share links.
  std::set<std::pair<std::string, std::vector<int64_t>>> alone;
  /// The step that is left out, by folder.
  std::map<uint32_t, int64_t> firstSteps;
  /// Indices into Observations::all, by the properties that make transfers
  /// alike.
  std::map<TransferKey, size_t> transfers;
  Observations observations;
};

} // namespace

Observations observe(const Profile &profile) { return Observer(profile).run(); }

} // namespace mf::calibration

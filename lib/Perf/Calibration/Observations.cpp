//===- Observations.cpp - Observed costs from a profile -------------------===//

#include "mf/Perf/Calibration/Observations.h"
#include "mf/Program/Signatures/ProfiledKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>

using llvm::StringRef;

namespace mf::calibration {

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

class Observer {
public:
  explicit Observer(const Profile &profile) : profile(profile) {}

  Observations run();

private:
  void findFirstSteps();
  bool isWarmUp(int64_t step, uint32_t folder) const;
  void observeLaunch(const ProfiledLaunch &launch);
  void observeTransfer(const ProfiledTransfer &transfer);
  std::optional<ObservedTransfer>
  getTransfer(const ProfiledTransfer &transfer) const;

  const Profile &profile;
  /// The step that is left out, by folder.
  std::map<uint32_t, int64_t> firstSteps;
  /// Indices into Observations::all, by the properties that make transfers
  /// alike.
  std::map<std::tuple<std::string, int64_t, std::vector<int64_t>>, size_t>
      transfers;
  Observations observations;
};

} // namespace

/// The first of three steps or more loads kernels and touches memory for the
/// first time.
void Observer::findFirstSteps() {
  constexpr size_t enough = 3;
  std::map<uint32_t, std::map<int64_t, int64_t>> rows;
  for (const ProfiledLaunch &launch : profile.launches)
    for (const ProfiledTime &time : launch.times)
      ++rows[time.folder][time.step];
  for (const auto &[folder, steps] : rows)
    if (steps.size() >= enough)
      firstSteps[folder] = steps.begin()->first;
}

bool Observer::isWarmUp(int64_t step, uint32_t folder) const {
  const auto found = firstSteps.find(folder);
  return found != firstSteps.end() && found->second == step;
}

static std::vector<TensorShape>
getShapes(llvm::ArrayRef<ProfiledOperand> operands) {
  std::vector<TensorShape> shapes;
  for (const ProfiledOperand &operand : operands)
    if (operand.type)
      shapes.push_back({*operand.type, operand.dims});
  return shapes;
}

void Observer::observeLaunch(const ProfiledLaunch &launch) {
  // communication.json has more details about these than this row.
  if (launch.core == "COMMUNICATION" || launch.core == "HCCL")
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
  observation.what = ObservedLaunch{signature, std::move(*spec)};
  for (const ProfiledTime &time : launch.times) {
    if (isWarmUp(time.step, time.folder))
      ++observations.warmUpRows;
    else if (time.seconds > 0)
      observation.logSeconds.push_back(std::log(time.seconds));
  }
  if (!observation.logSeconds.empty())
    observations.all.push_back(std::move(observation));
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

std::optional<ObservedTransfer>
Observer::getTransfer(const ProfiledTransfer &transfer) const {
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

void Observer::observeTransfer(const ProfiledTransfer &transfer) {
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
  const std::string kind =
      observed->collective ? getName(*observed->collective).str() : "message";
  auto [entry, isNew] = transfers.try_emplace(
      {kind, observed->bytes, observed->ranks}, observations.all.size());
  if (isNew) {
    Observation &added = observations.all.emplace_back();
    added.kind = kind;
    added.what = std::move(*observed);
  }
  observations.all[entry->second].logSeconds.push_back(
      std::log(transfer.seconds));
}

Observations Observer::run() {
  findFirstSteps();
  for (const ProfiledLaunch &launch : profile.launches)
    observeLaunch(launch);
  for (const ProfiledTransfer &transfer : profile.transfers)
    observeTransfer(transfer);
  for (Observation &observation : observations.all)
    observation.location = locate(observation.logSeconds);
  return std::move(observations);
}

Observations observe(const Profile &profile) { return Observer(profile).run(); }

} // namespace mf::calibration

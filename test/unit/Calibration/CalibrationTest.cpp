//===- CalibrationTest.cpp - Targets fitted to profiles -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/Calibration.h"
#include "mf/Perf/Calibration/Profile.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Target/Topology.h"
#include "mf/Program/Signatures/ProfiledKernels.h"
#include "test/unit/Target/SampleTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mf;
using namespace mf::calibration;
using mf::target::Target;

namespace {

/// How times are off from what a target predicts.
struct Noise {
  /// Standard deviation of the logarithm.
  double deviation = 0;
  /// The share of rows that take 2 to 20 times as long.
  double outliers = 0;
};

/// A device with something of everything, and two networks.
Target getSampleDevice() {
  Target target = target::getSampleTarget();
  target.memory.cacheGain = 0.8;
  target.kernels = {
      {"matmul", 0.8, 1, 0, 4e-6, {}},
      {"attention", 0.4, 1, 0, 10e-6, {{"keys", 500, 0, 1}}},
      {"attention_grad", 0.35, 1, 0, 10e-6, {{"keys", 500, 0, 1}}},
      {"norm", 0, 2, 0, 4e-6, {}},
      {"elementwise", 0, 1, 0, 3e-6, {}},
      {"cast", 0, 1, 0, 3e-6, {}},
      {"softmax", 0, 3, 0, 4e-6, {}}};
  return target;
}

/// The same with its efficiencies multiplied by random factors up to `factor`.
Target getRandomDevice(std::mt19937 &random, double factor) {
  Target target = getSampleDevice();
  std::uniform_real_distribution<double> logFactor(-std::log(factor),
                                                   std::log(factor));
  target::forEachField(target, [&](llvm::StringRef path,
                                   const target::Field &field) {
    // Rates that shares are of are known, and that some kinds move operands
    // once.
    auto *const *number = std::get_if<double *>(&field.value);
    const bool isNominal =
        path.starts_with("engines.") ||
        (path.starts_with("networks.") && path.ends_with("bytes_per_second"));
    if (!number || isNominal || (path.ends_with(".passes") && **number == 1) ||
        path.ends_with("power"))
      return;
    const double changed = **number * std::exp(logFactor(random));
    const bool isShare = field.range == target::Range::Share ||
                         field.range == target::Range::PositiveShare;
    **number = isShare ? std::min(changed, 1.0) : changed;
  });
  return target;
}

class ProfileSampler {
public:
  ProfileSampler(Profile &profile, int rows, const Noise &noise,
                 std::mt19937 &random)
      : profile(profile), rows(rows), noise(noise), random(random) {}

  /// Adds a launch with a device's operands.
  void launch(const Target &device, llvm::StringRef type,
              llvm::ArrayRef<TensorShape> inputs,
              llvm::ArrayRef<TensorShape> outputs);
  void transfer(llvm::StringRef name, double seconds, llvm::StringRef group,
                double sentBytes);

private:
  double disturb(double seconds);

  Profile &profile;
  int rows;
  const Noise &noise;
  std::mt19937 &random;
};

double ProfileSampler::disturb(double seconds) {
  std::normal_distribution<double> normal(0, noise.deviation);
  std::uniform_real_distribution<double> uniform(0, 1);
  seconds *= std::exp(noise.deviation > 0 ? normal(random) : 0);
  if (uniform(random) < noise.outliers)
    seconds *= 2 * std::pow(10.0, uniform(random));
  return seconds;
}

void ProfileSampler::launch(const Target &device, llvm::StringRef type,
                            llvm::ArrayRef<TensorShape> inputs,
                            llvm::ArrayRef<TensorShape> outputs) {
  const KernelSignature *signature = findProfiledKernel(type);
  ASSERT_NE(signature, nullptr) << type.str();
  const auto spec = getProfiledSpec(*signature, inputs, outputs);
  ASSERT_TRUE(spec.has_value()) << type.str();
  const double seconds =
      llvm::cantFail(target::getKernelCost(device, *signature, *spec,
                                           target::Compilation()))
          .seconds;
  ProfiledLaunch &launch = profile.launches.emplace_back();
  launch.type = type.str();
  launch.core = "AI_CORE";
  for (const TensorShape &shape : inputs)
    launch.inputs.push_back({shape.dims, shape.type});
  for (const TensorShape &shape : outputs)
    launch.outputs.push_back({shape.dims, shape.type});
  for (int i = 0; i < rows; ++i)
    launch.times.push_back({disturb(seconds), {}, 1 + i % 2, 0});
  profile.rows += rows;
}

void ProfileSampler::transfer(llvm::StringRef name, double seconds,
                              llvm::StringRef group, double sentBytes) {
  for (int i = 0; i < rows; ++i) {
    ProfiledTransfer &transfer = profile.transfers.emplace_back();
    transfer.name = name.str();
    transfer.group = group.str();
    transfer.step = 1 + i % 2;
    transfer.seconds = disturb(seconds);
    transfer.bytesByLink = {{"HCCS", sentBytes}};
  }
}

void addMatmuls(ProfileSampler &sampler, const Target &device) {
  for (int64_t rows : {128, 1024, 4096, 8192})
    for (int64_t inner : {512, 2048, 5120})
      for (int64_t columns : {1024, 5120, 13824})
        sampler.launch(
            device, "MatMulV2",
            {{DType::BF16, {rows, inner}}, {DType::BF16, {columns, inner}}},
            {{DType::BF16, {rows, columns}}});
}

void addAttention(ProfileSampler &sampler, const Target &device) {
  for (int64_t sequence : {512, 1024, 2048, 4096, 8192})
    for (int64_t heads : {4, 16, 40}) {
      const TensorShape x{DType::BF16, {1, sequence, heads * 128}};
      const TensorShape softmax{DType::F32, {1, heads, sequence, 8}};
      sampler.launch(device, "FlashAttentionScore", {x, x, x},
                     {softmax, softmax, {DType::BF16, {0}}, x});
      sampler.launch(device, "FlashAttentionScoreGrad",
                     {x, x, x, x, softmax, softmax, x}, {x, x, x});
    }
}

void addVectors(ProfileSampler &sampler, const Target &device) {
  for (int64_t rows : {32, 256, 1024, 4096, 16384})
    for (int64_t width : {1024, 5120}) {
      const TensorShape wide{DType::F32, {rows, width}};
      const TensorShape narrow{DType::BF16, {rows, width}};
      sampler.launch(device, "Add", {narrow, narrow}, {narrow});
      sampler.launch(device, "Mul", {wide, wide}, {wide});
      sampler.launch(device, "Cast", {wide}, {narrow});
      sampler.launch(device, "SoftmaxV2", {wide}, {wide});
      sampler.launch(device, "RmsNorm", {narrow, {DType::BF16, {width}}},
                     {narrow, {DType::F32, {rows, 1}}});
    }
}

/// A profile of launches of matrix products, attention, norms and others in
/// several sizes, each in `rows` rows, on a device. Shapes and types are as a
/// device shows them.
Profile getSampleProfile(const Target &device, int rows, const Noise &noise,
                         std::mt19937 &random) {
  Profile profile;
  profile.folders = {"sample/ASCEND_PROFILER_OUTPUT"};
  ProfileSampler sampler(profile, rows, noise, random);
  addMatmuls(sampler, device);
  addAttention(sampler, device);
  addVectors(sampler, device);
  return profile;
}

/// Adds collectives and messages of several sizes between 2 to 16 ranks.
void addTransfers(Profile &profile, const Target &device, int rows,
                  const Noise &noise, std::mt19937 &random) {
  const auto topology = llvm::cantFail(target::Topology::create(device, 16));
  profile.groups = {{{0, "inner"}, {0, 1, 2, 3}},
                    {{0, "outer"}, {0, 8}},
                    {{0, "neighbours"}, {0, 1}},
                    {{0, "nodes"}, {1, 9}}};
  ProfileSampler sampler(profile, rows, noise, random);
  const auto getSeconds = [](const target::TransferCost &cost) {
    return cost.latency + cost.seconds;
  };
  for (const char *group : {"inner", "outer"})
    for (int64_t bytes : {1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28}) {
      const std::vector<int64_t> &ranks = profile.groups[{0, group}];
      const auto getSent = [&, bytes = bytes](CollectiveKind kind) {
        return static_cast<double>(bytes) *
               getSentShare(kind, static_cast<int64_t>(ranks.size()));
      };
      sampler.transfer("hcom_allReduce__1_0_1",
                       getSeconds(topology.getCollective(
                           CollectiveKind::AllReduce, bytes, ranks)),
                       group, getSent(CollectiveKind::AllReduce));
      sampler.transfer("hcom_allGather__2_0_1",
                       getSeconds(topology.getCollective(
                           CollectiveKind::AllGather, bytes, ranks)),
                       group, getSent(CollectiveKind::AllGather));
    }
  for (const char *group : {"neighbours", "nodes"})
    for (int64_t bytes : {1 << 14, 1 << 20, 1 << 26}) {
      const std::vector<int64_t> &ranks = profile.groups[{0, group}];
      sampler.transfer(
          "hcom_send__3_0_1",
          getSeconds(topology.getMessage(bytes, ranks[0], ranks[1])), group,
          static_cast<double>(bytes));
    }
}

const CalibratedNumber &find(const Calibration &calibration,
                             llvm::StringRef path) {
  for (const CalibratedNumber &number : calibration.numbers)
    if (number.path == path)
      return number;
  ADD_FAILURE() << "no number " << path.str();
  static const CalibratedNumber none;
  return none;
}

double getNumber(Target target, llvm::StringRef path) {
  for (const mf::target::Parameter &parameter :
       mf::target::getParameters(target))
    if (parameter.path == path)
      return *parameter.value;
  ADD_FAILURE() << "no parameter " << path.str();
  return 0;
}

std::string print(const Calibration &calibration) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printCalibration(calibration, os);
  return text;
}

constexpr llvm::StringLiteral kernelNumbers[] = {
    "memory.bytes_per_second",     "memory.cache_gain",
    "kernels.matmul.peak_share",   "kernels.attention.peak_share",
    "kernels.attention.keys.half", "kernels.attention_grad.peak_share",
    "kernels.norm.passes",         "kernels.softmax.passes",
    "kernels.elementwise.latency", "kernels.norm.latency"};

TEST(CalibrationTest, RecoversRandomDevicesFromNoiseAndOutliers) {
  std::mt19937 random(2);
  const Noise noise{0.05, 0.05};
  for (int round = 0; round < 10; ++round) {
    const Target truth = getRandomDevice(random, 2);
    Profile profile = getSampleProfile(truth, 20, noise, random);
    addTransfers(profile, truth, 20, noise, random);
    const Calibration calibration =
        llvm::cantFail(calibrate(getSampleDevice(), profile));
    int64_t outliers = 0, rows = 0;
    for (const CalibratedKind &kind : calibration.kinds) {
      EXPECT_LT(kind.after.median, 0.06) << kind.kind;
      outliers += kind.outliers;
      rows += kind.rows;
    }
    EXPECT_NEAR(static_cast<double>(outliers) / static_cast<double>(rows), 0.05,
                0.03);
    for (llvm::StringRef path : kernelNumbers)
      EXPECT_NEAR(
          std::log(find(calibration, path).after / getNumber(truth, path)), 0,
          0.08)
          << "round " << round << " " << path.str() << "\n"
          << print(calibration);
    for (const char *path :
         {"networks.hccs.collective_share", "networks.roce.collective_share",
          "networks.hccs.message_share", "networks.roce.message_share",
          "networks.hccs.collective_latency"})
      EXPECT_NEAR(
          std::log(find(calibration, path).after / getNumber(truth, path)), 0,
          0.05)
          << "round " << round << " " << path;
  }
}

TEST(CalibrationTest, WhatIsNotDeterminedStaysAndIsSaid) {
  std::mt19937 random(3);
  const Target start = getSampleDevice();
  const Profile whole =
      getSampleProfile(getRandomDevice(random, 2), 3, {}, random);
  // One large product: it says how fast products are, not what each costs.
  Profile profile;
  profile.folders = whole.folders;
  for (const ProfiledLaunch &launch : whole.launches)
    if (launch.type == "MatMulV2" && launch.inputs[0].dims[0] == 8192 &&
        launch.inputs[0].dims[1] == 5120)
      profile.launches = {launch};
  const Calibration calibration = llvm::cantFail(calibrate(start, profile));
  EXPECT_EQ(find(calibration, "kernels.matmul.peak_share").state,
            FitState::Fitted);
  EXPECT_LT(calibration.kinds.front().after.most, 0.001) << print(calibration);
  for (const char *path : {"kernels.matmul.latency", "kernels.matmul.passes",
                           "memory.bytes_per_second"}) {
    EXPECT_EQ(find(calibration, path).state, FitState::Undetermined) << path;
    EXPECT_EQ(find(calibration, path).after, getNumber(start, path));
  }
  EXPECT_EQ(find(calibration, "kernels.attention.peak_share").state,
            FitState::Unused);
  EXPECT_EQ(getNumber(calibration.target, "kernels.attention.peak_share"),
            getNumber(start, "kernels.attention.peak_share"));
  const std::string text = print(calibration);
  EXPECT_NE(text.find("not determined by this profile, kept:\n"
                      "memory.bytes_per_second"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("not seen in this profile, kept: "), std::string::npos);
}

TEST(CalibrationTest, TakesWhatTheBusiestRankHasFreeForTheLatencyOfSteps) {
  std::mt19937 random(4);
  Profile profile = getSampleProfile(getSampleDevice(), 1, {}, random);
  // The first step of each rank is slow, the second rank waits for the first.
  for (uint32_t folder : {0U, 1U})
    for (int64_t step = 1; step <= 5; ++step) {
      ProfiledStep &row = profile.steps.emplace_back();
      row.step = step;
      row.folder = folder;
      row.free = 0.03 + 0.01 * folder + (step == 1 ? 1 : 0);
    }
  const Calibration calibration =
      llvm::cantFail(calibrate(getSampleDevice(), profile));
  EXPECT_DOUBLE_EQ(calibration.target.stepLatency, 0.03);
  EXPECT_EQ(find(calibration, "step_latency").rows, 4);
}

TEST(CalibrationTest, WaitingForOtherRanksIsNoLatencyOfSteps) {
  std::mt19937 random(4);
  Profile profile = getSampleProfile(getSampleDevice(), 1, {}, random);
  for (ProfiledLaunch &launch : profile.launches)
    launch.times.clear();
  // Within 100 ms, one rank is busy from 5 to 45, the other from 40 to 80.
  for (uint32_t folder : {0U, 1U}) {
    profile.launches[0].times.push_back({0.04, 5 + 0.035 * folder, 1, folder});
    ProfiledStep &row = profile.steps.emplace_back();
    row.step = 1;
    row.folder = folder;
    row.free = 0.06;
    row.length = 0.1;
  }
  const Calibration calibration =
      llvm::cantFail(calibrate(getSampleDevice(), profile));
  EXPECT_NEAR(calibration.target.stepLatency, 0.025, 1e-9);

  // A copy from 80 ms to 90 ms, for which a rank waits.
  profile.copies = {{1, 5.08, 0.01}};
  EXPECT_NEAR(
      llvm::cantFail(calibrate(getSampleDevice(), profile)).target.stepLatency,
      0.015, 1e-9);
  profile.copies.clear();

  // 5 ms more behind a collective that ends at 82 ms; what follows is the
  // host's.
  ProfiledLaunch &collective = profile.launches.emplace_back();
  collective.type = "hcom_allReduce_";
  collective.core = "COMMUNICATION";
  collective.times = {{0.002, 5.08, 1, 1}};
  profile.launches[0].times.push_back({0.003, 5.087, 1, 0});
  EXPECT_NEAR(
      llvm::cantFail(calibrate(getSampleDevice(), profile)).target.stepLatency,
      0.015, 1e-9);
}

TEST(CalibrationTest, LeavesTheFirstOfSeveralStepsOut) {
  std::mt19937 random(5);
  const Target device = getSampleDevice();
  Profile profile = getSampleProfile(device, 4, {}, random);
  for (ProfiledLaunch &launch : profile.launches)
    for (size_t i = 0; i < launch.times.size(); ++i) {
      launch.times[i].step = static_cast<int64_t>(i) + 10;
      launch.times[i].seconds *= i == 0 ? 10 : 1;
    }
  const Calibration calibration = llvm::cantFail(calibrate(device, profile));
  EXPECT_EQ(calibration.warmUpRows, profile.rows / 4);
  for (const CalibratedKind &kind : calibration.kinds) {
    EXPECT_EQ(kind.outliers, 0);
    EXPECT_LT(kind.after.most, 1e-6);
  }
}

TEST(CalibrationTest, CountsWhatItCannotUse) {
  std::mt19937 random(6);
  const Target device = getSampleDevice();
  Profile profile = getSampleProfile(device, 1, {}, random);
  auto add = [&](llvm::StringRef type, int rows) {
    ProfiledLaunch &launch = profile.launches.emplace_back();
    launch.type = type.str();
    launch.times.assign(rows, {1e-3, {}, 1, 0});
  };
  add("DropOutDoMaskV9", 7);
  // A product without operands, and a kind that the target has no rate for.
  add("MatMulV3", 2);
  add("ApplyAdamWV2", 1);
  profile.launches.back().inputs.assign(5, {{64}, mf::DType::F32});
  profile.launches.back().outputs.assign(3, {{64}, mf::DType::F32});
  const Calibration calibration = llvm::cantFail(calibrate(device, profile));
  EXPECT_EQ(calibration.unknownTypes,
            (std::map<std::string, int64_t>{{"DropOutDoMaskV9", 7}}));
  EXPECT_EQ(calibration.unclear,
            (std::map<std::string, int64_t>{{"MatMulV3", 2}}));
  EXPECT_EQ(calibration.withoutRate,
            (std::map<std::string, int64_t>{{"optimizer", 1}}));
  const std::string text = print(calibration);
  EXPECT_NE(text.find("unknown types: 7 rows (DropOutDoMaskV9 7)\n"),
            std::string::npos);

  Profile none;
  none.folders = {"x"};
  none.launches.assign(profile.launches.end() - 3, profile.launches.end());
  EXPECT_EQ(llvm::toString(calibrate(device, none).takeError()),
            "x: nothing to fit: expected rows of kernels that the target has "
            "rates for; of unknown type are DropOutDoMaskV9 (7); not clear by "
            "their operands are MatMulV3 (2); without a rate are optimizer "
            "(1)");
}

} // namespace

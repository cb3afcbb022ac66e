//===- CalibrationTest.cpp - Targets fitted to profiles
//
// SPDX-License-Identifier: Apache-2.0
//--------------------===//

#include "mf/Perf/Calibration/Calibration.h"
#include "SampleProfile.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf::calibration;
using mf::target::Target;

namespace {

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

TEST(CalibrationTest, RecoversRandomDevicesExactlyWithoutNoise) {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    const Target truth = getRandomDevice(random, 2);
    Profile profile = getSampleProfile(truth, 2, {}, random);
    addTransfers(profile, truth, 2, {}, random);
    const Calibration calibration =
        llvm::cantFail(calibrate(getSampleDevice(), profile));
    for (const CalibratedKind &kind : calibration.kinds)
      EXPECT_LT(kind.after.most, 0.01) << "round " << round << " " << kind.kind;
    for (llvm::StringRef path : kernelNumbers)
      EXPECT_NEAR(
          std::log(find(calibration, path).after / getNumber(truth, path)), 0,
          0.05)
          << "round " << round << " " << path.str() << "\n"
          << print(calibration);
  }
}

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

TEST(CalibrationTest, SameProfileGivesTheSameText) {
  std::mt19937 random(7);
  const Profile profile =
      getSampleProfile(getRandomDevice(random, 2), 5, {0.1, 0.05}, random);
  const std::string first =
      print(llvm::cantFail(calibrate(getSampleDevice(), profile)));
  EXPECT_EQ(first,
            print(llvm::cantFail(calibrate(getSampleDevice(), profile))));
}

} // namespace

//===- SampleProfile.cpp - Profiles of devices that are known -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleProfile.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Target/Topology.h"
#include "mf/Program/Signatures/ProfiledKernels.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cmath>

using mf::target::Target;
using mf::target::Wiring;

namespace mf::calibration {

Target getSampleDevice() {
  Target target;
  target.name = "sample";
  target.engines = {
      {Engine::Cube, {{DType::BF16, 300e12}, {DType::F32, 75e12}}},
      {Engine::Vector, {{DType::F32, 10e12}}}};
  target.memory = {int64_t{64} << 30, 1e12, 0.8, 64e6};
  target.host = {25e9, 24e9, 1e-5};
  target.kernels = {
      {"matmul", 0.8, 1, 0, 4e-6, {}},
      {"attention", 0.4, 1, 0, 10e-6, {{"keys", 500, 0, 1}}},
      {"attention_grad", 0.35, 1, 0, 10e-6, {{"keys", 500, 0, 1}}},
      {"norm", 0, 2, 0, 4e-6, {}},
      {"elementwise", 0, 1, 0, 3e-6, {}},
      {"cast", 0, 1, 0, 3e-6, {}},
      {"softmax", 0, 3, 0, 4e-6, {}}};
  target.networks = {
      {"hccs", "npu", 8, Wiring::Mesh, 28e9, 0.5, 0.9, 15e-6, 10e-6, 0.25},
      {"roce", "hccs", 0, Wiring::Switch, 25e9, 0.7, 0.6, 30e-6, 60e-6, 0.2}};
  target.stepLatency = 0.02;
  return target;
}

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

namespace {

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

} // namespace

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

static void addMatmuls(ProfileSampler &sampler, const Target &device) {
  for (int64_t rows : {128, 1024, 4096, 8192})
    for (int64_t inner : {512, 2048, 5120})
      for (int64_t columns : {1024, 5120, 13824})
        sampler.launch(
            device, "MatMulV2",
            {{DType::BF16, {rows, inner}}, {DType::BF16, {columns, inner}}},
            {{DType::BF16, {rows, columns}}});
}

static void addAttention(ProfileSampler &sampler, const Target &device) {
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

static void addVectors(ProfileSampler &sampler, const Target &device) {
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

} // namespace mf::calibration

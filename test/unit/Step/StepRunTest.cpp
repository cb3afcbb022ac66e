//===- StepRunTest.cpp - Training runs of programs outside of mf ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Step/StepRun.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "mf/Program/Program.h"
#include "test/unit/TemporaryDirectory.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <array>
#include <cstring>
#include <numeric>

using namespace mf::step;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {

/// A program of one parameter. Its gradient is the first token, its update
/// subtracts the learning rate, and it reports the parameter as the loss.
class StepRunTest : public testing::Test {
protected:
  void SetUp() override {
    facts.version = interfaceVersion;
    facts.stages.resize(1);
    facts.sequenceLength = 4;
    facts.vocabularySize = 256;
    facts.hasSchedule = true;
    facts.schedule.type = "ConstantWarmUpLR";
    facts.schedule.parameters = {{"learning_rate", 0.5},
                                 {"warmup_steps", int64_t{0}}};
    add("w", "parameter", "w", "f32", {1}, false).initial = {
        "ones", 0, 1, 1, {}};
    add("moment", "first_moment", "w", "f32", {1}, false);
    add("gradient", "gradient", "w", "f32", {1}, false);
    add("tokens", "tokens", "", "i32", {1, 1, 4}, true);
    add("rate", "learning_rate", "", "f32", {}, true);
    add("report", "report", "loss", "f32", {}, true);
    data = folder.write("text", "abcdefghijklmnopqrstuvwxyz");
  }

  StepBuffer &add(const char *name, const char *role, const char *of,
                  const char *type, std::vector<int64_t> dims, bool onHost) {
    StepBuffer buffer;
    buffer.name = name;
    buffer.role = role;
    buffer.of = of;
    buffer.type = type;
    buffer.dims = std::move(dims);
    buffer.bytes = std::accumulate(buffer.dims.begin(), buffer.dims.end(),
                                   int64_t{4}, std::multiplies<>());
    buffer.onHost = onHost;
    memory[name].resize(static_cast<size_t>(buffer.bytes));
    facts.stages[0].push_back(std::move(buffer));
    return facts.stages[0].back();
  }

  float get(const std::string &name) const {
    float value = 0;
    std::memcpy(&value, memory.at(name).data(), sizeof(value));
    return value;
  }
  void set(const std::string &name, float value) {
    std::memcpy(memory.at(name).data(), &value, sizeof(value));
  }

  StepDevice makeDevice() {
    StepDevice device;
    device.write = [this](const StepBuffer &buffer, const void *bytes) {
      std::memcpy(memory.at(buffer.name).data(), bytes,
                  static_cast<size_t>(buffer.bytes));
      return std::string();
    };
    device.read = [this](const StepBuffer &buffer, void *bytes) {
      std::memcpy(bytes, memory.at(buffer.name).data(),
                  static_cast<size_t>(buffer.bytes));
      return std::string();
    };
    device.computeGradients = [this] {
      int32_t token = 0;
      std::memcpy(&token, memory.at("tokens").data(), sizeof(token));
      tokens.push_back(static_cast<char>(token));
      set("gradient", static_cast<float>(token));
      return failure;
    };
    device.finishStep = [this] {
      set("w", get("w") - get("rate"));
      set("report", get("w"));
      return std::string();
    };
    device.synchronize = [] { return std::string(); };
    return device;
  }

  int runWith(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "step");
    std::vector<char *> pointers;
    for (std::string &argument : arguments)
      pointers.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int result = run(static_cast<int>(pointers.size()), pointers.data(),
                           facts, makeDevice());
    llvm::outs().flush();
    output = testing::internal::GetCapturedStdout();
    errors = testing::internal::GetCapturedStderr();
    return result;
  }

  mf::TemporaryDirectory folder;
  Facts facts;
  std::map<std::string, std::vector<char>> memory;
  std::string data, output, errors, failure;
  std::vector<char> tokens;
};

} // namespace

TEST_F(StepRunTest, ReadsAndWritesTheExpertsOfTokenIds) {
  const std::string given = data + ".safetensors", saved = data + ".saved";
  add("experts", "table", "tid2eid", "f32", {2, 2}, false).initial = {
      "token_experts", 3, 1, 1, {}};
  const mf::TensorShape shape = {mf::DType::I32, {2, 2}};
  auto write = [&](std::array<int32_t, 4> experts) {
    const float three = 3;
    mf::SafetensorsWriter writer;
    llvm::cantFail(writer.declare("w", {mf::DType::F32, {1}}));
    llvm::cantFail(writer.declare("tid2eid", shape));
    llvm::cantFail(writer.open(given));
    llvm::cantFail(writer.write(
        "w", {reinterpret_cast<const uint8_t *>(&three), sizeof(three)}));
    llvm::cantFail(writer.write(
        "tid2eid",
        {reinterpret_cast<const uint8_t *>(experts.data()), sizeof(experts)}));
    llvm::cantFail(writer.commit());
  };
  auto getExperts = [&] {
    std::array<float, 4> experts = {};
    std::memcpy(experts.data(), memory.at("experts").data(), sizeof(experts));
    return experts;
  };
  EXPECT_EQ(runWith({"--data=" + data}), 0) << errors;
  EXPECT_THAT(getExperts(), ElementsAre(0, 1, 1, 2));
  write({2, 2, 0, 1});
  EXPECT_EQ(runWith({"--data=" + data, "--init-params=" + given,
                     "--save-params=" + saved}),
            0)
      << errors;
  EXPECT_EQ(errors, "");
  EXPECT_FLOAT_EQ(get("w"), 2.5);
  EXPECT_THAT(getExperts(), ElementsAre(2, 2, 0, 1));
  const auto file = llvm::cantFail(mf::SafetensorsFile::open(saved));
  const auto table = llvm::cantFail(file.find("tid2eid"));
  EXPECT_EQ(table.shape, shape);
  std::array<int32_t, 4> written = {};
  std::memcpy(written.data(), table.bytes.data(), sizeof(written));
  EXPECT_THAT(written, ElementsAre(2, 2, 0, 1));
  write({2, 2, 0, 3});
  EXPECT_EQ(runWith({"--data=" + data, "--init-params=" + given}), 1);
  EXPECT_THAT(errors, HasSubstr("tensor 'tid2eid' gives token 1 the expert 3, "
                                "expected 0 to 2"));
}

TEST_F(StepRunTest, GoesOnFromACheckpoint) {
  const std::string checkpoints = "--checkpoint-dir=" + data + ".checkpoints";
  set("moment", 3);
  EXPECT_EQ(runWith({"--data=" + data, "--steps=1", checkpoints}), 0) << errors;
  EXPECT_THAT(output, HasSubstr("step:[    1/    1], loss: 0.500"));
  set("w", 7);
  EXPECT_EQ(runWith({"--data=" + data, "--steps=2", checkpoints, "--resume"}),
            0);
  EXPECT_THAT(errors, HasSubstr("note: resumed "));
  EXPECT_THAT(tokens, ElementsAre('a', 'e'));
  EXPECT_FLOAT_EQ(get("w"), 0);
  EXPECT_THAT(output, HasSubstr("step:[    2/    2], loss: 0.000"));

  facts.stages[0][0].of = "v";
  EXPECT_EQ(runWith({"--data=" + data, "--steps=3", checkpoints, "--resume"}),
            1);
  EXPECT_THAT(errors, HasSubstr("the checkpoint has no tensor 'v'"));
}

TEST_F(StepRunTest, WantsAFolderForCheckpoints) {
  EXPECT_EQ(runWith({"--data=" + data, "--resume"}), 1);
  EXPECT_THAT(errors, HasSubstr("error: --resume and --checkpoint-every need "
                                "--checkpoint-dir"));
}

TEST_F(StepRunTest, EndsWithTheErrorOfTheDevice) {
  failure = "aclnnMatmul of 'layers.0': error 561002";
  EXPECT_EQ(runWith({"--data=" + data}), 1);
  EXPECT_THAT(errors,
              HasSubstr("error: aclnnMatmul of 'layers.0': error 561002"));
}

TEST_F(StepRunTest, RefusesOptionsThatItDoesNotHave) {
  EXPECT_EQ(runWith({"--steps=0"}), 1);
  EXPECT_THAT(errors,
              HasSubstr("'--steps=0' is no option, or lacks its value"));
}

TEST_F(StepRunTest, KnowsWhereTheRanksPartBegins) {
  facts.axes = {{"pp", 1}, {"cp", 3}};
  StepBuffer &first = add("first.cp.4", "table", "", "i32", {1}, false);
  first.initial.kind = "coordinate";
  first.initial.value = 4;
  first.sliceDims = {3};
  first.sliceAxes = {{"cp"}};
  first.offset = 512;
  // A value that a step changes is not known.
  add("label", "labels", "", "i32", {1}, false).initial = first.initial;
  for (facts.rank = 0; facts.rank < 3; ++facts.rank) {
    std::vector<std::pair<int64_t, int32_t>> known;
    EXPECT_EQ(getKnownIntegers(facts, known), "");
    EXPECT_THAT(known,
                ElementsAre(Pair(512, 4 * static_cast<int>(facts.rank))));
  }
  facts.rank = 0;
  facts.stages[0].back().type = "f33";
  std::vector<std::pair<int64_t, int32_t>> known;
  EXPECT_EQ(getKnownIntegers(facts, known),
            "'label': unknown element type 'f33'");
}

TEST_F(StepRunTest, RefusesFactsOfAnotherVersion) {
  facts.version = 0;
  EXPECT_EQ(checkFacts(facts),
            "the program does not say its version: expected version 1 of "
            "libmf-step's interface; emit it again with mf-translate");
  facts.version = interfaceVersion + 1;
  EXPECT_EQ(runWith({"--data=" + data}), 1);
  EXPECT_EQ(errors,
            "error: the program is for version 2: expected version 1 of "
            "libmf-step's interface; emit it again with mf-translate\n");
}

TEST_F(StepRunTest, RefusesNamesThatItDoesNotKnow) {
  const Facts right = facts;
  auto getError = [&](llvm::function_ref<void()> change) {
    facts = right;
    change();
    EXPECT_EQ(runWith({"--data=" + data}), 1);
    EXPECT_EQ(errors, "error: " + checkFacts(facts) + "\n");
    return checkFacts(facts);
  };
  StepBuffer &buffer = facts.stages[0].front();
  EXPECT_EQ(getError([&] { buffer.role = "third_moment"; }),
            "'w': unknown role 'third_moment'");
  EXPECT_EQ(getError([&] { buffer.role = ""; }), "'w': unknown role ''");
  EXPECT_EQ(getError([&] { buffer.type = "f8"; }),
            "'w': unknown element type 'f8'");
  EXPECT_EQ(getError([&] { buffer.initial.kind = "twos"; }),
            "'w': unknown kind of initial value 'twos'");
  EXPECT_EQ(getError([&] {
              buffer.sliceDims = {2};
              buffer.sliceAxes = {{"mp"}};
            }),
            "'w': the mesh has no axis 'mp'");
  EXPECT_EQ(getError([&] { buffer.sliceDims = {2, 2}; }),
            "'w': expected a size and axes of the whole for each of 1 "
            "dimensions");
  EXPECT_EQ(getError([&] { facts.sampleOrder = "random"; }),
            "unknown order of samples 'random'");
  EXPECT_EQ(getError([&] { facts.rank = 1; }),
            "expected a rank of 1, but got 1");
  EXPECT_EQ(getError([&] { facts.axes = {{"dp", 1}}; }),
            "expected 'pp' as the first axis of the mesh");
  EXPECT_EQ(getError([&] { facts.axes = {{"pp", 2}}; }),
            "expected the statics of 2 stages, but got those of 1");
  EXPECT_EQ(getError([&] { facts.axes.push_back({"dp", 0}); }),
            "axis 'dp': expected at least 1 rank");
  EXPECT_EQ(getError([&] {
              facts.channels.emplace_back().name = "dp";
              facts.channels.back().groupAxes = {"dp"};
            }),
            "channel 'dp': the mesh has no axis 'dp'");
  EXPECT_EQ(getError([&] { facts.channels.emplace_back().toStage = 1; }),
            "channel '': there is no stage 1");
}

//===- SlicedStateTest.cpp - Whole tensors on many ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RunnerTesting.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Program/LocatedError.h"
#include "test/unit/TemporaryDirectory.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral normal =
    " {init = #mf.init<normal, value = 1.0>}";

/// A program of one stage on `mesh` with `statics`.
std::string makeProgram(llvm::StringRef mesh, const std::string &statics) {
  return "module attributes {mf.mesh = #mf.mesh<pp = 1, " + mesh.str() +
         ">} {\nascend.program @stage0 stage 0" + makeHeader(1, 4, 4194304, 0) +
         "ascend.stream @compute compute\n" + statics +
         "ascend.step {}\n}\n}\n";
}

/// "w" of 300 x 256 in fp32, and "b" of 48 in bf16, cut or not.
std::string makeStatics(llvm::StringRef typeOfW, llvm::StringRef sliceOfW,
                        llvm::StringRef typeOfB, llvm::StringRef sliceOfB) {
  auto make = [](llvm::StringRef name, llvm::StringRef role,
                 llvm::StringRef type, llvm::StringRef slice, int64_t offset,
                 llvm::StringRef init) {
    return ("ascend.static @" + name + "_" + role + " " + role + " of \"" +
            name + "\" : !ascend.buffer<" + type + ", hbm> " +
            (slice.empty() ? std::string() : "slice " + slice.str()) + " at " +
            llvm::Twine(offset) + init + "\n")
        .str();
  };
  return make("w", "parameter", typeOfW, sliceOfW, 0, normal) +
         make("b", "parameter", typeOfB, sliceOfB, 1 << 20, normal) +
         make("w", "gradient", typeOfW, sliceOfW, 2 << 20, "") +
         make("w", "first_moment", typeOfW, sliceOfW, 3 << 20, "");
}

const std::string whole =
    makeProgram("dp = 1", makeStatics("300x256xf32", "", "48xbf16", ""));
const std::string sixRanks =
    makeProgram("dp = 2, mp = 3",
                makeStatics("100x128xf32", "<[300, 256] over [[mp], [dp]]>",
                            "16xbf16", "<[48] over [[mp]]>"));
const std::string eightRanks =
    makeProgram("dp = 2, cp = 2, mp = 2",
                makeStatics("75x256xf32", "<[300, 256] over [[mp, cp], []]>",
                            "6xbf16", "<[48] over [[cp, dp, mp]]>"));

struct SlicedModel : ProgramWithState {
  explicit SlicedModel(const std::string &text) : ProgramWithState(text) {
    EXPECT_EQ(llvm::toString(state->initialize(5)), "");
  }
};

/// A file that is gone when the test is over.
struct TemporaryFile {
  TemporaryDirectory folder;
  const std::string path = folder.path("state");

  std::string read() const { return readFile(path); }
};

/// Writes a file, which must not fail.
void write(const TemporaryFile &file,
           llvm::Expected<ranks::WholeTensors> tensors) {
  EXPECT_EQ(llvm::toString(ranks::writeTensors(file.path, std::move(tensors))),
            "");
}

/// The bytes of the file of all parameters.
std::string save(SlicedModel &model) {
  const TemporaryFile file;
  write(file, model.state->collectParameters());
  return file.read();
}

/// The error of a load, empty if there is none.
std::string load(SlicedModel &model, const TemporaryFile &file) {
  std::vector<std::string> notes;
  const std::string error =
      llvm::toString(model.state->loadParameters({file.path}, notes));
  EXPECT_TRUE(notes.empty());
  return error;
}

/// A table of coordinates tells each rank where its part begins.
TEST(SlicedStateTest, ACoordinateIsThatOfTheRank) {
  SlicedModel model(makeProgram(
      "dp = 2, mp = 3",
      "ascend.static @first table : !ascend.buffer<1xi32, hbm> slice <[6] over "
      "[[mp, dp]]> at 0 {init = #mf.init<coordinate, value = 64.0>}\n"));
  for (int64_t rank = 0; rank < 6; ++rank) {
    int32_t first = -1;
    std::memcpy(&first, model.runner->getStatic(rank, 0).data(), sizeof(first));
    // The first axis is outermost.
    EXPECT_EQ(first, 64 * (rank % 3 * 2 + rank / 3));
  }
}

TEST(SlicedStateTest, SavesTheSameFileOnEveryMesh) {
  SlicedModel one(whole), six(sixRanks), eight(eightRanks);
  const std::string file = save(one);
  EXPECT_GT(file.size(), 300U * 256 * 4);
  EXPECT_EQ(save(six), file);
  EXPECT_EQ(save(eight), file);
}

TEST(SlicedStateTest, LoadsOnAnotherMesh) {
  SlicedModel six(sixRanks), eight(eightRanks), one(whole);
  // Something that no initial value is.
  for (int64_t rank = 0; rank < 6; ++rank)
    for (uint8_t &byte : six.runner->getStatic(rank, 0))
      byte = static_cast<uint8_t>(byte ^ 1);
  const TemporaryFile first, second;
  write(first, six.state->collectParameters());
  EXPECT_NE(first.read(), save(one));
  ASSERT_EQ(load(eight, first), "");
  EXPECT_EQ(save(eight), first.read());
  write(second, eight.state->collectParameters());
  ASSERT_EQ(load(one, second), "");
  EXPECT_EQ(save(one), first.read());
}

TEST(SlicedStateTest, ChecksFilesAgainstTheWhole) {
  SlicedModel six(sixRanks);
  SlicedModel small(
      makeProgram("dp = 1", makeStatics("100x128xf32", "", "48xbf16", "")));
  const TemporaryFile file;
  write(file, small.state->collectParameters());
  EXPECT_THAT(load(six, file), HasSubstr("'w'"));
}

TEST(SlicedStateTest, SavesGradientsOfTheFirstHolderOfEachPart) {
  // Ranks that differ in dp hold the same parts of w.
  SlicedModel model(
      makeProgram("dp = 2, mp = 2",
                  makeStatics("300x128xf32", "<[300, 256] over [[], [mp]]>",
                              "48xbf16", "")));
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto value = static_cast<float>(rank + 1);
    llvm::MutableArrayRef<uint8_t> bytes = model.runner->getStatic(rank, 2);
    for (size_t at = 0; at < bytes.size(); at += 4)
      std::memcpy(bytes.data() + at, &value, 4);
  }
  const TemporaryFile file;
  write(file, model.state->collectGradients());
  auto opened = SafetensorsFile::open(file.path);
  ASSERT_TRUE(static_cast<bool>(opened));
  auto tensor = opened->find("w");
  ASSERT_TRUE(static_cast<bool>(tensor));
  EXPECT_EQ(tensor->shape.dims, (llvm::SmallVector<int64_t, 4>{300, 256}));
  std::vector<float> values(300 * 256);
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i % 256 < 128 ? 1.0F : 2.0F) << i;
}

TEST(SlicedStateTest, RefusesOneTensorOfTwoShapes) {
  SlicedModel model(makeProgram(
      "dp = 1",
      "ascend.static @a gradient of \"w\" : !ascend.buffer<4xf32, hbm> at 0\n"
      "ascend.static @b gradient of \"w\" : !ascend.buffer<8xf32, hbm> at "
      "64\n"));
  const TemporaryFile file;
  EXPECT_EQ(llvm::toString(ranks::writeTensors(
                file.path, model.state->collectGradients())),
            "'w' is 8xf32 here, but 4xf32 on rank 0 (stage 0)");
}

/// Six ranks' files make the parts of six, of eight, and the whole.
TEST(SlicedStateTest, LoadsACheckpointOnAnyLayout) {
  SlicedModel six(sixRanks);
  std::vector<TemporaryFile> files(6);
  std::vector<std::string> paths;
  for (int64_t rank = 0; rank < 6; ++rank) {
    paths.push_back(files[rank].path);
    ASSERT_EQ(llvm::toString(six.state->saveRank(rank, paths[rank])), "");
  }
  const std::string expected = save(six);
  for (const std::string &layout : {sixRanks, eightRanks, whole}) {
    SlicedModel other(layout);
    ASSERT_EQ(llvm::toString(other.state->initialize(9)), "");
    EXPECT_NE(save(other), expected);
    ASSERT_EQ(llvm::toString(other.state->loadRanks(paths)), "");
    EXPECT_EQ(save(other), expected);
  }
}

TEST(SlicedStateTest, RefusesACheckpointThatLacksElements) {
  SlicedModel six(sixRanks);
  const TemporaryFile file;
  ASSERT_EQ(llvm::toString(six.state->saveRank(4, file.path)), "");
  EXPECT_THAT(llvm::toString(six.state->loadRanks({file.path})),
              HasSubstr("tensor 'w': the checkpoint holds 0 of the 12800 "
                        "elements that a rank has of it"));
}

TEST(SlicedStateTest, RefusesACheckpointOfAnotherShape) {
  SlicedModel one(whole);
  const TemporaryFile file;
  ASSERT_EQ(llvm::toString(one.state->saveRank(0, file.path)), "");
  SlicedModel other(
      makeProgram("dp = 1", makeStatics("300x128xf32", "", "48xbf16", "")));
  EXPECT_THAT(llvm::toString(other.state->loadRanks({file.path})),
              HasSubstr("tensor 'w' is a part of [300, 256], but the "
                        "program's of [300, 128]"));
}

TEST(SlicedStateTest, SaysWhatLivesElsewhere) {
  ParsedProgram parsed(sixRanks);
  ASSERT_TRUE(parsed.decoded) << parsed.messages;
  RunnerOptions options;
  options.communicator =
      makeLocalCommunicator(parsed.get().mesh, parsed.get().channels);
  options.localRanks = {1, 2};
  auto runner = Runner::create(parsed.get(), options);
  ASSERT_TRUE(static_cast<bool>(runner));
  ModelState state(**runner);
  EXPECT_EQ(llvm::toString(state.initialize(5)), "");
  const TemporaryFile file;
  EXPECT_EQ(
      llvm::toString(ranks::writeTensors(file.path, state.collectParameters())),
      "tensor 'b': the ranks that live here hold 32 of its 48 elements");
}

} // namespace

//===- SafetensorsWriterTest.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/SafetensorsWriter.h"
#include "TestFiles.h"
#include "gmock/gmock.h"
#include <thread>

using namespace llvm;
using namespace mf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<uint8_t> makeBytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(SafetensorsWriterTest, BytesAreThoseOfTheFormat) {
  TemporaryDirectory directory;
  const std::vector<uint8_t> half = {1, 2};
  const std::vector<uint8_t> single = {3, 4, 5, 6, 7, 8, 9, 10};
  ASSERT_EQ(message(writeSafetensors(directory.path("t"),
                                     {{"a\"", {DType::BF16, {1}}, half},
                                      {"b", {DType::F32, {2, 1}}, single}},
                                     {{"format", "pt"}})),
            "");
  // 8-byte steps: the header has 142 characters and two blanks.
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("a\"":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
  std::string padded = header;
  while (padded.size() % 8 != 0)
    padded += ' ';
  EXPECT_EQ(readFile(directory.path("t")),
            littleEndian(padded.size(), 8) + padded +
                "\x03\x04\x05\x06\x07\x08\x09\x0a\x01\x02");
}

TEST(SafetensorsWriterTest, WhatIsWrittenIsReadBack) {
  TemporaryDirectory directory;
  const DType types[] = {DType::F32, DType::BF16, DType::F16, DType::I32,
                         DType::I64};
  std::vector<NamedTensor> tensors;
  std::vector<std::vector<uint8_t>> storage;
  for (unsigned i = 0; i < 40; ++i) {
    const TensorShape shape{types[i % 5], {i % 4, 1 + i % 7}};
    storage.push_back(makeBytes(shape.getBytes(), i));
    tensors.push_back({"t." + std::to_string(i), shape, {}});
  }
  for (unsigned i = 0; i < 40; ++i)
    tensors[i].bytes = storage[i];
  ASSERT_EQ(message(writeSafetensors(directory.path("t"), tensors)), "");

  Expected<SafetensorsFile> file = SafetensorsFile::open(directory.path("t"));
  ASSERT_TRUE(bool(file)) << message(std::move(file));
  ASSERT_EQ(file->getTensors().size(), 40u);
  for (const NamedTensor &tensor : tensors) {
    const TensorView view = cantFail(file->find(tensor.name));
    EXPECT_EQ(view.shape, tensor.shape);
    EXPECT_EQ(view.bytes, tensor.bytes);
    const size_t begin = view.bytes.data() - file->getTensors()[0].bytes.data();
    EXPECT_EQ(begin % getBytes(tensor.shape.type), 0u);
  }

  // The order of declaration leaves no trace.
  std::reverse(tensors.begin(), tensors.end());
  ASSERT_EQ(message(writeSafetensors(directory.path("u"), tensors)), "");
  EXPECT_EQ(readFile(directory.path("t")), readFile(directory.path("u")));
}

TEST(SafetensorsWriterTest, ThreadsWritePartsInAnyOrder) {
  TemporaryDirectory directory;
  const std::vector<uint8_t> bytes = makeBytes(40000, 5);
  SafetensorsWriter writer;
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(message(writer.declare("rank" + std::to_string(i),
                                     {DType::I32, {10000}})),
              "");
  ASSERT_EQ(message(writer.open(directory.path("t"))), "");
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const std::string name = "rank" + std::to_string(i);
      for (size_t end = bytes.size(); end > 0; end -= 1000)
        EXPECT_EQ(message(writer.write(
                      name, ArrayRef<uint8_t>(bytes).slice(end - 1000, 1000),
                      end - 1000)),
                  "");
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(message(writer.commit()), "");
  Expected<SafetensorsFile> file = SafetensorsFile::open(directory.path("t"));
  ASSERT_TRUE(bool(file));
  for (const SafetensorsEntry &entry : file->getTensors())
    EXPECT_EQ(entry.bytes, ArrayRef<uint8_t>(bytes));
}

TEST(SafetensorsWriterTest, EmptyFileIsAFile) {
  TemporaryDirectory directory;
  ASSERT_EQ(message(writeSafetensors(directory.path("t"), {})), "");
  Expected<SafetensorsFile> file = SafetensorsFile::open(directory.path("t"));
  ASSERT_TRUE(bool(file)) << message(std::move(file));
  EXPECT_TRUE(file->getTensors().empty());
}

TEST(SafetensorsWriterTest, RefusesBadDeclarations) {
  SafetensorsWriter writer;
  EXPECT_EQ(message(writer.declare("a", {DType::F32, {2}})), "");
  EXPECT_THAT(message(writer.declare("a", {DType::F32, {2}})),
              HasSubstr("tensor 'a': declared twice"));
  EXPECT_THAT(message(writer.declare("b", {DType::F32, {-1}})),
              HasSubstr("negative or over 2^63 bytes"));
  EXPECT_THAT(message(writer.declare("b", {DType::F32, {1 << 30, 1 << 30, 8}})),
              HasSubstr("negative or over 2^63 bytes"));
  for (StringRef name : {"", "__metadata__", "\xff"})
    EXPECT_THAT(message(writer.declare(name, {DType::F32, {}})),
                HasSubstr("not a name that a safetensors file can hold"));
  EXPECT_THAT(message(writer.write("a", {})), HasSubstr("no file is open"));
  EXPECT_THAT(message(writer.commit()), HasSubstr("no file is open"));
}

TEST(SafetensorsWriterTest, RefusesWrongBytesAndKeepsTheOldFile) {
  TemporaryDirectory directory;
  directory.write("t", "old");
  const std::vector<uint8_t> bytes(8);
  {
    SafetensorsWriter writer;
    ASSERT_EQ(message(writer.declare("a", {DType::F32, {2}})), "");
    ASSERT_EQ(message(writer.open(directory.path("t"))), "");
    EXPECT_THAT(message(writer.declare("b", {DType::F32, {2}})),
                HasSubstr("declared after the file was opened"));
    EXPECT_THAT(message(writer.write("b", bytes)),
                HasSubstr("tensor 'b' was not declared"));
    EXPECT_THAT(message(writer.write("a", bytes, 1)),
                HasSubstr("tensor 'a' has 8 bytes; cannot write 8 at 1"));
    EXPECT_THAT(message(writer.write("a", bytes, ~0ull)),
                HasSubstr("cannot write 8 at 18446744073709551615"));
    EXPECT_EQ(
        message(writer.write("a", ArrayRef<uint8_t>(bytes).take_front(4))), "");
    EXPECT_THAT(message(writer.commit()),
                HasSubstr("tensor 'a' has 8 bytes, but 4 were written"));
  }
  EXPECT_EQ(readFile(directory.path("t")), "old");
  EXPECT_THAT(directory.list(), ElementsAre("t"));
  EXPECT_THAT(message(writeSafetensors(directory.path("no/t"), {})),
              HasSubstr("cannot create"));
}

} // namespace

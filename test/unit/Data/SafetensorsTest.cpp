//===- SafetensorsTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/Safetensors.h"
#include "TestFiles.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "gmock/gmock.h"
#include <cstring>

using namespace llvm;
using namespace mf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

namespace {

/// A file with this header and these bytes of data.
std::string makeFile(const std::string &header, const std::string &data) {
  return littleEndian(header.size(), 8) + header + data;
}

Expected<SafetensorsFile> parse(StringRef contents) {
  return SafetensorsFile::parse(
      MemoryBuffer::getMemBufferCopy(contents, "t.safetensors"));
}

std::string parseError(const std::string &header, const std::string &data) {
  return message(parse(makeFile(header, data)));
}

std::string makeWholeFile() {
  return makeFile(
      R"({"__metadata__":{"format":"pt","step":"3"},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]},)"
      R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("mask":{"dtype":"BOOL","shape":[2],"data_offsets":[22,24]},)"
      R"("none":{"dtype":"I64","shape":[0,7],"data_offsets":[24,24]},)"
      R"("scalar":{"dtype":"I32","shape":[],"data_offsets":[24,28]}}   )",
      littleEndian(0x3F800000, 4) + littleEndian(0x40000000, 4) +
          littleEndian(0x40400000, 4) + littleEndian(0x40800000, 4) +
          littleEndian(0x4000, 2) + littleEndian(0x3F80, 2) +
          littleEndian(0x0000, 2) + littleEndian(1, 2) + littleEndian(77, 4));
}

TEST(SafetensorsTest, ReadsShapesBytesAndMetadata) {
  Expected<SafetensorsFile> file = parse(makeWholeFile());
  ASSERT_TRUE(bool(file)) << message(std::move(file));
  EXPECT_THAT(file->getMetadata(),
              ElementsAre(Pair("format", "pt"), Pair("step", "3")));
  std::vector<std::string> names;
  for (const SafetensorsEntry &entry : file->getTensors())
    names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a", "b", "mask", "none", "scalar"));

  Expected<TensorView> a = file->find("a");
  ASSERT_TRUE(bool(a));
  EXPECT_EQ(a->shape, (TensorShape{DType::F32, {2, 2}}));
  float values[4];
  ASSERT_EQ(a->bytes.size(), sizeof values);
  std::memcpy(values, a->bytes.data(), sizeof values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));

  Expected<TensorView> scalar = file->find("scalar");
  ASSERT_TRUE(bool(scalar));
  EXPECT_TRUE(scalar->shape.dims.empty());
  EXPECT_EQ(scalar->bytes[0], 77);
  Expected<TensorView> none = file->find("none");
  ASSERT_TRUE(bool(none));
  EXPECT_TRUE(none->bytes.empty());
  EXPECT_EQ(file->lookup("mask")->type, SafetensorsType::Bool);
}

TEST(SafetensorsTest, FindSaysWhatIsWrong) {
  Expected<SafetensorsFile> file = parse(makeWholeFile());
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(message(file->find("scaler")),
            "t.safetensors: no tensor 'scaler'; did you mean 'scalar'?");
  EXPECT_EQ(message(file->find("model.embedding")),
            "t.safetensors: no tensor 'model.embedding'");
  EXPECT_THAT(message(file->find("mask")),
              HasSubstr("tensor 'mask' is of type BOOL, expected F32"));
}

TEST(SafetensorsTest, ReadTensorConvertsAndChecksTheShape) {
  Expected<SafetensorsFile> file = parse(makeWholeFile());
  ASSERT_TRUE(bool(file));
  const TensorView view = cantFail(file->find("b"));
  float values[3];
  MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(values),
                                 sizeof values);
  ASSERT_EQ(message(readTensor("b", view, {DType::F32, {3}}, bytes)), "");
  EXPECT_THAT(values, ElementsAre(2, 1, 0));
  EXPECT_EQ(message(readTensor("b", view, {DType::F32, {1, 3}}, bytes)),
            "tensor 'b': has shape [3], expected [1, 3]");
  EXPECT_THAT(message(readTensor("b", view, {DType::I32, {3}}, bytes)),
              AllOf(StartsWith("tensor 'b': "), HasSubstr("bf16 to i32")));
}

TEST(SafetensorsTest, EveryTruncationIsAnError) {
  forEachTruncation(makeWholeFile(), [](StringRef prefix) {
    EXPECT_THAT(message(parse(prefix)), StartsWith("t.safetensors: "))
        << prefix.size();
  });
}

TEST(SafetensorsTest, TrailingBytesAreAnError) {
  EXPECT_EQ(message(parse(makeWholeFile() + "x")),
            "t.safetensors: 1 bytes follow the last tensor");
}

TEST(SafetensorsTest, MutationsAreReadOrRefusedWhole) {
  unsigned read = 0;
  forEachMutation(makeWholeFile(), 20000, [&](StringRef mutated) {
    Expected<SafetensorsFile> file = parse(mutated);
    if (!file) {
      EXPECT_THAT(message(std::move(file)), StartsWith("t.safetensors: "));
      return;
    }
    ++read;
    size_t sum = 0;
    for (const SafetensorsEntry &entry : file->getTensors()) {
      size_t product = getBytes(entry.type);
      for (int64_t dim : entry.dims)
        product *= dim;
      EXPECT_EQ(product, entry.bytes.size());
      for (uint8_t byte : entry.bytes)
        sum += byte;
    }
    EXPECT_LE(sum, mutated.size() * 255); // every byte is readable
  });
  EXPECT_GT(read, 300u); // changed values are still files
}

TEST(SafetensorsTest, RefusesBrokenHeaders) {
  EXPECT_THAT(message(parse(littleEndian(~0ull, 8))),
              HasSubstr("its header would have 18446744073709551615 bytes"));
  EXPECT_THAT(message(parse(littleEndian(3, 8) + "{}")),
              HasSubstr("cut short: the header has 3 bytes, but only 2"));
  EXPECT_THAT(parseError("[]", ""), HasSubstr("does not start with '{'"));
  EXPECT_THAT(parseError("{\"a\":}", ""), HasSubstr("malformed JSON"));
  EXPECT_THAT(parseError("{\"a\xff\":1}", ""), HasSubstr("malformed JSON"));
  EXPECT_THAT(parseError("{\"a\":1}", ""),
              HasSubstr("tensor 'a': expected an object"));
  EXPECT_THAT(parseError(R"({"__metadata__":3})", ""),
              HasSubstr("expected '__metadata__' to be an object"));
  EXPECT_THAT(parseError(R"({"__metadata__":{"a":3}})", ""),
              HasSubstr("to map strings to strings"));
  // A parser that recurses would overflow its stack here.
  EXPECT_THAT(parseError("{\"a\":" + std::string(1000000, '['), ""),
              HasSubstr("JSON nested 1000001 deep"));
}

std::string makeEntry(const std::string &type, const std::string &shape,
                      const std::string &offsets) {
  return R"({"dtype":")" + type + R"(","shape":[)" + shape +
         R"(],"data_offsets":[)" + offsets + "]}";
}

TEST(SafetensorsTest, RefusesBrokenEntries) {
  const std::string bytes = makeEntry("U8", "4", "0,4");
  const std::pair<std::string, const char *> cases[] = {
      {R"({"shape":[],"data_offsets":[0,4]})", "expected a string 'dtype'"},
      {makeEntry("F3", "", "0,4"), "unknown dtype 'F3'"},
      {R"({"dtype":"F32","data_offsets":[0,4]})",
       "expected an array of integers 'shape'"},
      {makeEntry("F32", "-1", "0,4"),
       "'shape' holds something other than integers"},
      {makeEntry("F32", "1.5", "0,4"),
       "'shape' holds something other than integers"},
      {makeEntry("F32", "\"1\"", "0,4"),
       "'shape' holds something other than integers"},
      {makeEntry("F32", "9223372036854775808", "0,4"),
       "'shape' holds something other than integers"},
      {makeEntry("F32", "null", "0,4"),
       "'shape' holds something other than integers"},
      {makeEntry("F32", "", "0"), "expected 'data_offsets' to be [begin, end]"},
      {makeEntry("F32", "", "4,0"),
       "expected 'data_offsets' to be [begin, end]"},
      {makeEntry("F32", "", "0,4,8"),
       "expected 'data_offsets' to be [begin, end]"},
      {makeEntry("F32", "", ""), "expected 'data_offsets' to be [begin, end]"},
      {R"({"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1})",
       "and nothing else"},
      {makeEntry("F32", "4294967296,4294967296", "0,4"),
       "the shape has more than 2^63 bytes"},
      {makeEntry("F32", "2", "0,4"),
       "its shape takes 8 bytes but its data_offsets hold 4"},
      {makeEntry("F32", "2", "0,8"),
       "the file has only 4 there (is it cut short?)"},
      {bytes + R"(,"b":)" + makeEntry("U8", "2", "2,4"),
       "tensor 'b': overlaps 'a' by 2 bytes"},
      {makeEntry("U8", "2", "0,2") + R"(,"b":)" + makeEntry("U8", "1", "3,4"),
       "tensor 'b': a hole of 1 bytes lies between it and 'a'"},
      {makeEntry("U8", "3", "1,4"),
       "a hole of 1 bytes lies between it and 'the header'"},
      {bytes + R"(,"a":)" + bytes, "name 'a' appears twice"},
      {R"({"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]})",
       "name 'dtype' appears twice"}};
  for (const auto &[entry, expected] : cases)
    EXPECT_THAT(parseError(R"({"a":)" + entry + "}", "0000"),
                HasSubstr(expected))
        << entry;
}

TEST(SafetensorsTest, OpenNeedsARegularFile) {
  TemporaryDirectory directory;
  EXPECT_THAT(message(SafetensorsFile::open(directory.path("none"))),
              HasSubstr("cannot open: no such file or directory"));
  EXPECT_THAT(message(SafetensorsFile::open(directory.str())),
              HasSubstr("expected a regular file"));
  EXPECT_THAT(message(SafetensorsFile::open("/dev/zero")),
              HasSubstr("expected a regular file"));
  const std::string path = directory.write("t.safetensors", makeWholeFile());
  EXPECT_EQ(message(SafetensorsFile::open(path)), "");
}

class CheckpointFilesTest : public testing::Test {
protected:
  /// A file with one F32 scalar per name.
  void writeScalars(const std::string &file,
                    const std::vector<std::string> &names) {
    std::vector<NamedTensor> tensors;
    tensors.reserve(names.size());
    for (const std::string &name : names)
      tensors.push_back({name, {DType::F32, {}}, ArrayRef<uint8_t>(bytes)});
    ASSERT_EQ(message(writeSafetensors(directory.path(file), tensors)), "");
  }

  TemporaryDirectory directory;
  std::vector<uint8_t> bytes = {0, 0, 0x80, 0x3F};
};

TEST_F(CheckpointFilesTest, ReadsTheShardsOfAnIndex) {
  writeScalars("model-00001-of-00002.safetensors", {"a", "b"});
  writeScalars("model-00002-of-00002.safetensors", {"c", "unlisted"});
  const std::string index =
      directory.write("model.safetensors.index.json",
                      R"({"metadata":{"total_size":12},"weight_map":{
           "a":"model-00001-of-00002.safetensors",
           "c":"model-00002-of-00002.safetensors",
           "b":"model-00001-of-00002.safetensors"}})");
  for (const std::string &path : {index, directory.str()}) {
    Expected<SafetensorsCheckpoint> checkpoint =
        SafetensorsCheckpoint::open(path);
    ASSERT_TRUE(bool(checkpoint)) << message(std::move(checkpoint));
    EXPECT_THAT(checkpoint->getNames(), ElementsAre("a", "b", "c"));
    EXPECT_EQ(cantFail(checkpoint->find("c")).bytes, ArrayRef<uint8_t>(bytes));
    EXPECT_EQ(checkpoint->lookup("unlisted"), nullptr);
    EXPECT_THAT(message(checkpoint->find("d")), HasSubstr("no tensor 'd'"));
  }
}

TEST_F(CheckpointFilesTest, ReadsADirectoryWithoutIndexAndASingleFile) {
  writeScalars("rank_1.safetensors", {"b"});
  writeScalars("rank_0.safetensors", {"a"});
  Expected<SafetensorsCheckpoint> all =
      SafetensorsCheckpoint::open(directory.str());
  ASSERT_TRUE(bool(all)) << message(std::move(all));
  EXPECT_THAT(all->getNames(), ElementsAre("a", "b"));
  Expected<SafetensorsCheckpoint> one =
      SafetensorsCheckpoint::open(directory.path("rank_1.safetensors"));
  ASSERT_TRUE(bool(one));
  EXPECT_THAT(one->getNames(), ElementsAre("b"));
  writeScalars("rank_2.safetensors", {"a"});
  EXPECT_THAT(message(SafetensorsCheckpoint::open(directory.str())),
              AllOf(HasSubstr("rank_2.safetensors: tensor 'a' is also in "),
                    HasSubstr("rank_0.safetensors")));
}

TEST_F(CheckpointFilesTest, RefusesBrokenIndices) {
  writeScalars("s.safetensors", {"a"});
  auto openIndex = [&](const std::string &text) {
    return message(
        SafetensorsCheckpoint::open(directory.write("x.index.json", text)));
  };
  EXPECT_EQ(openIndex(R"({"weight_map":{"a":"s.safetensors"}})"), "");
  EXPECT_THAT(openIndex(R"({"weight_map":{"b":"s.safetensors"}})"),
              HasSubstr("s.safetensors: no tensor 'b', which the index"));
  EXPECT_THAT(openIndex(R"({"weight_map":{"a":"t.safetensors"}})"),
              HasSubstr("t.safetensors: cannot open"));
  for (const char *name : {"../s.safetensors", "/etc/passwd", "", "..", "d/s"})
    EXPECT_THAT(
        openIndex(R"({"weight_map":{"a":")" + std::string(name) + "\"}}"),
        HasSubstr("tensor 'a': expected the name of a file beside"));
  EXPECT_THAT(openIndex(R"({"weight_map":{"a":1}})"),
              HasSubstr("tensor 'a': expected the name of a file"));
  EXPECT_THAT(openIndex("[]"), HasSubstr("expected an object 'weight_map'"));
  EXPECT_THAT(openIndex(R"({"weight_map":[]})"),
              HasSubstr("expected an object 'weight_map'"));
  EXPECT_THAT(
      openIndex(R"({"weight_map":{"a":"s.safetensors","a":"t.safetensors"}})"),
      HasSubstr("name 'a' appears twice"));
  const std::string whole = R"({"weight_map":{"a":"s.safetensors"}})";
  forEachTruncation(whole, [&](StringRef prefix) {
    EXPECT_THAT(openIndex(prefix.str()), HasSubstr("x.index.json: "));
  });
}

TEST_F(CheckpointFilesTest, RefusesADirectoryWithoutTensors) {
  EXPECT_THAT(message(SafetensorsCheckpoint::open(directory.str())),
              HasSubstr("no safetensors files in this directory"));
}

} // namespace

//===- TokenSourceTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TokenSource.h"
#include "TestFiles.h"
#include "TokenTestFiles.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace mf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<int64_t> readAll(const TokenSource &source) {
  std::vector<int64_t> tokens(source.getNumTokens());
  source.read(0, tokens);
  return tokens;
}

std::vector<int64_t> readAll(const std::string &path) {
  Expected<std::unique_ptr<TokenSource>> source = TokenSource::open(path);
  if (source)
    return readAll(**source);
  ADD_FAILURE() << message(std::move(source));
  return {};
}

TEST(TokenSourceTest, BytesOfAFile) {
  TemporaryDirectory directory;
  const std::string path = directory.write("text.txt", "A\xffz\n");
  Expected<std::unique_ptr<TokenSource>> source = TokenSource::open(path);
  ASSERT_TRUE(bool(source));
  EXPECT_THAT(readAll(**source), ElementsAre(65, 255, 122, 10));
  EXPECT_EQ((*source)->getDescription(), path + " (bytes)");
  std::vector<int64_t> middle(2);
  (*source)->read(1, middle);
  EXPECT_THAT(middle, ElementsAre(255, 122));
  EXPECT_EQ(readAll(directory.write("empty", "")).size(), 0u);
  EXPECT_THAT(message(TokenSource::open(directory.path("none"))),
              HasSubstr("cannot open: no such file"));
  EXPECT_THAT(message(TokenSource::open(directory.str())),
              HasSubstr("expected a regular file"));
}

TEST(TokenSourceTest, NpyOfEveryIntegerType) {
  TemporaryDirectory directory;
  const std::pair<const char *, unsigned> types[] = {
      {"|u1", 1}, {"|i1", 1}, {"<u1", 1}, {"<u2", 2}, {"<i2", 2},
      {"<u4", 4}, {"<i4", 4}, {"<u8", 8}, {"<i8", 8}};
  for (const auto &[descr, bytes] : types) {
    const std::string path =
        directory.write("a.npy", makeNpy(descr, "(3,)", bytes, {1, 2, 100}));
    EXPECT_THAT(readAll(path), ElementsAre(1, 2, 100)) << descr;
  }
  const int64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(
      readAll(directory.write("a.npy", makeNpy("<i2", "(1,)", 2, {0xFFFF}))),
      ElementsAre(-1));
  EXPECT_THAT(
      readAll(directory.write("a.npy", makeNpy("<u2", "(1,)", 2, {0xFFFF}))),
      ElementsAre(65535));
  EXPECT_THAT(
      readAll(directory.write("a.npy", makeNpy("<u8", "(1,)", 8, {~0ull}))),
      ElementsAre(largest));
}

TEST(TokenSourceTest, NpyOfEveryVersionAndDimension) {
  TemporaryDirectory directory;
  for (unsigned version : {1, 2, 3}) {
    // The extension is not needed: the first bytes tell.
    const std::string path = directory.write(
        "a", makeNpy("<i4", "(2, 3)", 4, {1, 2, 3, 4, 5, 6}, version));
    Expected<std::unique_ptr<TokenSource>> source = TokenSource::open(path);
    ASSERT_TRUE(bool(source)) << message(std::move(source));
    EXPECT_THAT(readAll(**source), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ((*source)->getRowLength(), 3);
    EXPECT_EQ((*source)->getDescription(), path + " (2-D array of int32)");
  }
  EXPECT_EQ(
      readAll(directory.write("a.npy", makeNpy("<i4", "(0,)", 4, {}))).size(),
      0u);
  EXPECT_EQ(
      readAll(directory.write("a.npy", makeNpy("<i4", "(0, 5)", 4, {}))).size(),
      0u);
}

TEST(TokenSourceTest, NpyRefusals) {
  TemporaryDirectory directory;
  auto openNpy = [&](const std::string &contents) {
    return message(TokenSource::open(directory.write("a.npy", contents)));
  };
  EXPECT_THAT(openNpy("text"), HasSubstr("a.npy: not an .npy file"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(1,)", 4, {1}, 4)),
              HasSubstr("unknown .npy version 4"));
  EXPECT_THAT(
      openNpy(makeNpy("<f4", "(1,)", 4, {1})),
      HasSubstr("array of type '<f4', expected little-endian integers"));
  EXPECT_THAT(openNpy(makeNpy(">i4", "(1,)", 4, {1})),
              HasSubstr("array of type '>i4'"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "()", 4, {1})),
              HasSubstr("array with 0 dimensions, expected 1 or 2"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(1, 1, 1)", 4, {1})),
              HasSubstr("array with 3 dimensions"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(2,)", 4, {1})),
              HasSubstr("takes 8 bytes, but 4 follow the header"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(1,)", 4, {1, 2})),
              HasSubstr("takes 4 bytes, but 8 follow the header"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(4294967296, 4294967296)", 4, {1})),
              HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(99999999999999999999,)", 4, {1})),
              HasSubstr("malformed .npy header"));
  EXPECT_THAT(openNpy(makeNpy("<i4", "(-1,)", 4, {1})),
              HasSubstr("malformed .npy header"));
  EXPECT_THAT(openNpy(makeNpyWithHeader("{'descr': '<i4', 'fortran_order': "
                                        "True, 'shape': (1, 1), }",
                                        littleEndian(1, 4))),
              HasSubstr("array in Fortran order, expected C order"));
  for (const char *header :
       {"", "{", "{}", "{'descr': '<i4'}", "{'descr': [('a', '<i4')]}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        "{'descr':'<i4','descr':'<i4','fortran_order':False,'shape':(1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<i4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': 1}"})
    EXPECT_THAT(openNpy(makeNpyWithHeader(header, littleEndian(1, 4))),
                HasSubstr("malformed .npy header"))
        << header;
  // One-dimensional arrays are the same in both orders.
  EXPECT_EQ(openNpy(makeNpyWithHeader("{\"descr\":\"<i4\",\"fortran_order\":"
                                      "True,\"shape\":(1L)}",
                                      littleEndian(1, 4))),
            "");
}

TEST(TokenSourceTest, NpyCutOrChanged) {
  TemporaryDirectory directory;
  const std::string whole =
      makeNpy("<u2", "(2, 4)", 2, {1, 2, 3, 4, 5, 6, 7, 8});
  forEachTruncation(whole, [&](StringRef prefix) {
    EXPECT_THAT(message(TokenSource::open(directory.write("a.npy", prefix))),
                HasSubstr("a.npy: "))
        << prefix.size();
  });
  forEachMutation(whole, 3000, [&](StringRef mutated) {
    Expected<std::unique_ptr<TokenSource>> source =
        TokenSource::open(directory.write("a.npy", mutated));
    if (source)
      EXPECT_EQ(static_cast<int64_t>(readAll(**source).size()),
                (*source)->getNumTokens());
    else
      EXPECT_THAT(message(std::move(source)), HasSubstr("a.npy: "));
  });
}

class MegatronFilesTest : public testing::Test {
protected:
  std::vector<int64_t> open(const MegatronPair &pair, const char *name = "d") {
    directory.write("d.idx", pair.index);
    directory.write("d.bin", pair.data);
    return readAll(directory.path(name));
  }
  std::string openError(const MegatronPair &pair) {
    directory.write("d.idx", pair.index);
    directory.write("d.bin", pair.data);
    return message(TokenSource::open(directory.path("d.bin")));
  }

  TemporaryDirectory directory;
};

TEST_F(MegatronFilesTest, AnyNameOfThePair) {
  const MegatronPair pair = makeMegatron(8, 2, {{1, 2, 3}, {}, {4}, {5, 6}});
  for (const char *name : {"d", "d.bin", "d.idx"})
    EXPECT_THAT(open(pair, name), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(MegatronFilesTest, EveryIntegerType) {
  const std::pair<unsigned, unsigned> codes[] = {{1, 1}, {2, 1}, {3, 2},
                                                 {4, 4}, {5, 8}, {8, 2}};
  for (auto [code, bytes] : codes)
    EXPECT_THAT(open(makeMegatron(code, bytes, {{7, 100}, {3}})),
                ElementsAre(7, 100, 3))
        << code;
  EXPECT_THAT(openError(makeMegatron(7, 4, {{1}})),
              HasSubstr("element type code 7, expected integers"));
}

TEST_F(MegatronFilesTest, SequencesMayLieInAnyOrder) {
  MegatronPair pair = makeMegatron(4, 4, {{1, 2, 3}, {}, {4}, {5, 6}});
  // Swap where the first and the third sequence lie: bytes 0 to 12 hold 1 2 3.
  pair.setOffset(0, 4);
  pair.setOffset(2, 0);
  EXPECT_THAT(open(pair), ElementsAre(2, 3, 4, 1, 5, 6));
  Expected<std::unique_ptr<TokenSource>> source =
      TokenSource::open(directory.path("d"));
  ASSERT_TRUE(bool(source));
  const std::vector<int64_t> all = {2, 3, 4, 1, 5, 6};
  for (size_t first = 0; first <= all.size(); ++first)
    for (size_t count = 0; first + count <= all.size(); ++count) {
      std::vector<int64_t> tokens(count);
      (*source)->read(static_cast<int64_t>(first), tokens);
      EXPECT_EQ(ArrayRef<int64_t>(tokens),
                ArrayRef<int64_t>(all).slice(first, count));
    }
}

TEST_F(MegatronFilesTest, SequenceModesAreAllowedAtTheEnd) {
  MegatronPair pair = makeMegatron(4, 4, {{1}, {2}});
  pair.index += std::string(2, '\0');
  EXPECT_THAT(open(pair), ElementsAre(1, 2));
  pair.index += '\0';
  EXPECT_THAT(openError(pair),
              HasSubstr("3 bytes follow the end of the index"));
}

TEST_F(MegatronFilesTest, Refusals) {
  const MegatronPair whole = makeMegatron(4, 4, {{1, 2}, {3}});
  MegatronPair pair = whole;
  pair.index[9] = 2;
  EXPECT_THAT(openError(pair), HasSubstr("unknown version 2"));
  pair = whole;
  pair.index[0] = 'X';
  EXPECT_THAT(openError(pair),
              HasSubstr("not the index of a Megatron dataset"));
  pair = whole;
  pair.setOffset(1, 9);
  EXPECT_THAT(openError(pair),
              HasSubstr("sequence 1 (1 tokens at byte 9) is not inside"));
  pair.setOffset(1, ~0ull);
  EXPECT_THAT(openError(pair), HasSubstr("at byte -1) is not inside"));
  pair = whole;
  pair.setCount(~0ull);
  EXPECT_THAT(openError(pair),
              HasSubstr("an index of 18446744073709551615 sequences"));
  pair = whole;
  pair.setBound(0, 3);
  EXPECT_THAT(openError(pair),
              HasSubstr("document bound 0 is 3, expected 0 to 2"));
  pair = whole;
  pair.setBound(0, 2);
  pair.setBound(1, 1);
  EXPECT_THAT(openError(pair),
              HasSubstr("document bound 1 is 1, expected 2 to 2"));

  ASSERT_FALSE(sys::fs::remove(directory.path("d.bin")));
  EXPECT_THAT(message(TokenSource::open(directory.path("d.idx"))),
              HasSubstr("d.bin: cannot open"));
  EXPECT_THAT(message(TokenSource::open(directory.path("e.bin"))),
              HasSubstr("e.idx: cannot open"));
  EXPECT_THAT(
      message(TokenSource::open(directory.write("renamed", whole.index))),
      HasSubstr("expected to be called NAME.idx"));
}

TEST_F(MegatronFilesTest, CutOrChanged) {
  const MegatronPair whole = makeMegatron(8, 2, {{1, 2, 3}, {4}, {5, 6}});
  forEachTruncation(whole.index, [&](StringRef prefix) {
    MegatronPair pair = whole;
    pair.index = prefix.str();
    EXPECT_THAT(openError(pair), HasSubstr("d.idx: ")) << prefix.size();
  });
  forEachTruncation(whole.data, [&](StringRef prefix) {
    MegatronPair pair = whole;
    pair.data = prefix.str();
    EXPECT_THAT(openError(pair), AllOf(HasSubstr("d.idx: sequence"),
                                       HasSubstr("is not inside")));
  });
  forEachMutation(whole.index, 3000, [&](StringRef mutated) {
    directory.write("d.idx", mutated);
    directory.write("d.bin", whole.data);
    Expected<std::unique_ptr<TokenSource>> source =
        TokenSource::open(directory.path("d"));
    if (source)
      EXPECT_EQ(static_cast<int64_t>(readAll(**source).size()),
                (*source)->getNumTokens());
    else
      EXPECT_THAT(message(std::move(source)), HasSubstr("d.idx: "));
  });
}

} // namespace

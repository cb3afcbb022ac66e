//===- MutationTest.cpp - Broken YAML files -------------------------------===//
//
// Real files, mutated: the readers must neither crash nor hang, say the same
// twice, and name a place in what they say. The seed is fixed; a long run with
// coverage is scripts/fuzz-yaml.sh.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/ReadEverything.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace mf;

namespace {

std::vector<std::string> readFiles() {
  std::vector<std::string> paths;
  for (const char *folder :
       {"/data/mindformers/yamls", "/data/mindformers/throughput_yamls",
        "/fuzz/seeds"}) {
    std::error_code code;
    std::string path = MF_TEST_DATA + std::string("/..") + folder;
    for (llvm::sys::fs::directory_iterator at(path, code), end;
         at != end && !code; at.increment(code))
      paths.push_back(at->path());
  }
  // Folders list their files in no fixed order.
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      texts.push_back((*buffer)->getBuffer().str());
  return texts;
}

constexpr llvm::StringLiteral tokens[] = {
    "[",     "]",     "{",       "}",     ": ",       "- ",
    "? ",    "&a ",   "*a",      "<<: ",  "!!int ",   "!!python/x ",
    "'",     "\"",    "|\n",     ">-\n",  "\t",       "# ",
    "---\n", "...\n", "%TAG ! ", "True",  "-1",       "99999999999999999999",
    "1e999", ".nan",  "null",    "[[1]]", "'a\\.b'",  "'(((('",
    "\n",    "\r\n",  "0x",      "~",     "{a: [b]}", "layers: [0, 1]"};

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  size_t below(size_t limit) {
    return limit == 0 ? 0 : random() % static_cast<uint64_t>(limit);
  }

  void mutate(std::string &text, const std::vector<std::string> &others) {
    size_t at = below(text.size());
    switch (below(7)) {
    case 0: // a wrong byte
      if (!text.empty())
        text[at] = static_cast<char>(below(256));
      break;
    case 1: // cut short
      text.resize(at);
      break;
    case 2: // a piece missing
      text.erase(at, below(40));
      break;
    case 3: // a piece twice
      text.insert(at, text.substr(below(text.size()), below(200)));
      break;
    case 4: // a piece of another file
    {
      const std::string &other = others[below(others.size())];
      text.insert(at, other.substr(below(other.size()), below(300)));
      break;
    }
    case 5: // a line indented differently
      text.insert(std::min(text.find('\n', at), text.size()), "\n  ");
      break;
    default:
      text.insert(at, tokens[below(std::size(tokens))].str());
      break;
    }
  }

private:
  std::mt19937_64 random;
};

TEST(MutationTest, MutatedFilesAreReadOrRejected) {
  std::vector<std::string> texts = readFiles();
  ASSERT_EQ(texts.size(), 40U);
  const CellTree tree = makeFuzzTree();
  Mutator mutator(20251120);
  size_t rejected = 0;
  size_t accepted = 0;
  for (int round = 0; round < 40; ++round) {
    for (const std::string &original : texts) {
      std::string text = original;
      for (size_t i = 0, count = 1 + mutator.below(6); i < count; ++i)
        mutator.mutate(text, texts);
      std::string said = readEverything(text, tree);
      ASSERT_EQ(said, readEverything(text, tree));
      bool hasError = said.find("error: ") != std::string::npos;
      ++(hasError ? rejected : accepted);
      for (char c : said)
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << said;
    }
  }
  // The mutations are neither too weak nor too strong to tell something.
  EXPECT_GT(rejected, 300U);
  EXPECT_GT(accepted, 300U);
}

TEST(MutationTest, EveryPrefixOfAFileIsReadOrRejected) {
  std::string text = readFiles()[0].substr(0, 3000);
  const CellTree tree = makeFuzzTree();
  for (size_t length = 0; length < text.size(); length += 7)
    readEverything(llvm::StringRef(text).take_front(length), tree);
}

} // namespace

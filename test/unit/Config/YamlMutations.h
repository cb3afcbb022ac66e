//===- YamlMutations.h - Real YAML files, broken --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_YAMLMUTATIONS_H
#define MF_TEST_UNIT_CONFIG_YAMLMUTATIONS_H

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace mf {

/// The YAMLs of test/data and the seeds of the fuzzer, by path.
inline std::vector<std::string> findYamlFiles() {
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
  return paths;
}

inline std::vector<std::string> readYamlTexts() {
  std::vector<std::string> texts;
  for (const std::string &path : findYamlFiles())
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      texts.push_back((*buffer)->getBuffer().str());
  return texts;
}

/// Pieces of YAML that change what is around them.
inline constexpr llvm::StringLiteral yamlTokens[] = {
    "[",     "]",     "{",       "}",     ": ",       "- ",
    "? ",    "&a ",   "*a",      "<<: ",  "!!int ",   "!!python/x ",
    "'",     "\"",    "|\n",     ">-\n",  "\t",       "# ",
    "---\n", "...\n", "%TAG ! ", "True",  "-1",       "99999999999999999999",
    "1e999", ".nan",  "null",    "[[1]]", "'a\\.b'",  "'(((('",
    "\n",    "\r\n",  "0x",      "~",     "{a: [b]}", "layers: [0, 1]"};

/// Breaks texts, the same ones for the same seed.
class YamlMutator {
public:
  explicit YamlMutator(unsigned seed) : random(seed) {}

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
      text.insert(at, yamlTokens[below(std::size(yamlTokens))].str());
      break;
    }
  }

private:
  std::mt19937_64 random;
};

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_YAMLMUTATIONS_H

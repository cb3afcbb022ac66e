//===- yaml_fuzz.cpp - libFuzzer target over the YAML readers -------------===//
//
// Built with -DMF_FUZZ=ON, run by scripts/fuzz-yaml.sh.
//
//===----------------------------------------------------------------------===//

#include "ReadEverything.h"
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const mf::CellTree tree = mf::makeFuzzTree();
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  mf::readEverything(text, tree);
  return 0;
}

//===- yaml_fuzz.cpp - libFuzzer target over YAML texts -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Built with -DMF_FUZZ=ON, run by scripts/fuzz-yaml.sh.
//
//===----------------------------------------------------------------------===//

#include "EditSettings.h"
#include "ReadEverything.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const mf::CellTree tree = mf::makeFuzzTree();
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  mf::readEverything(text, tree);
  mf::editSettings(text, [](llvm::StringRef complaint) {
    llvm::report_fatal_error(complaint.str().c_str());
  });
  return 0;
}

//===- Outputs.cpp - Files that are written at the end --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Outputs.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Error;
using llvm::StringRef;

namespace mf::tools {

static bool isFile(StringRef path) { return !path.empty() && path != "-"; }

Error checkOutputPaths(llvm::ArrayRef<std::string> paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!isFile(paths[i]))
      continue;
    if (llvm::is_contained(paths.take_front(i), paths[i]))
      return llvm::createStringError("'" + paths[i] +
                                     "' is given for two outputs, expected a "
                                     "file for each");
    // The file is removed again; this only tests that it can be written.
    if (auto file = AtomicFile::create(paths[i]); !file)
      return file.takeError();
  }
  return Error::success();
}

void Outputs::add(StringRef path, std::string text) {
  if (!path.empty())
    files.push_back({path.str(), std::move(text)});
}

Error Outputs::write() const {
  for (const File &file : files)
    if (isFile(file.path)) {
      if (Error error = writeFileAtomically(file.path, file.text))
        return error;
    } else {
      llvm::outs() << file.text;
    }
  return Error::success();
}

} // namespace mf::tools

//===- FileFaults.cpp - Faults of files that are written ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/FileFaults.h"
#include <cerrno>

namespace mf {

FileFaults *FileFaults::current = nullptr;

FileFaults::~FileFaults() = default;

bool mayUseFile(size_t *maximum) {
  FileFaults *faults = FileFaults::getCurrent();
  if (!faults)
    return true;
  const FileFault fault = faults->getNext();
  if (fault.code != 0) {
    errno = fault.code;
    return false;
  }
  if (maximum && fault.maximum < *maximum)
    *maximum = fault.maximum;
  return true;
}

bool mayCleanUpFiles() {
  const FileFaults *faults = FileFaults::getCurrent();
  return !faults || !faults->hasEnded();
}

} // namespace mf

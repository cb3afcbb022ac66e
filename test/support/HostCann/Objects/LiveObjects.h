//===- LiveObjects.h - Objects of aclnn that are not destroyed --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OBJECTS_LIVEOBJECTS_H
#define MF_TEST_SUPPORT_HOSTCANN_OBJECTS_LIVEOBJECTS_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <mutex>
#include <string>

namespace mf::hostcann {

/// Tracks the objects that a program has created and not yet destroyed, to find
/// objects that are used after their destruction, destroyed twice, or left over
/// at aclFinalize.
class LiveObjects {
public:
  static LiveObjects &get();

  /// Registers an object. `kind` is the name of its type, for example
  /// aclTensor.
  void add(const void *object, llvm::StringRef kind);
  /// Unregisters an object. Returns false if there is no such object.
  bool remove(const void *object, llvm::StringRef kind);
  bool has(const void *object, llvm::StringRef kind);

private:
  LiveObjects();
  /// Unregisters all objects and returns a text with the number of each kind;
  /// empty if there were none.
  std::string takeLeft();

  std::mutex mutex;
  std::map<const void *, llvm::StringRef> objects;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OBJECTS_LIVEOBJECTS_H

//===- LiveObjects.h - Objects of aclnn that are not destroyed --*- C++ -*-===//

#ifndef MF_HOSTCANN_OBJECTS_LIVEOBJECTS_H
#define MF_HOSTCANN_OBJECTS_LIVEOBJECTS_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <mutex>
#include <string>

namespace mf::hostcann {

/// Knows what the program has created and not yet destroyed, so that what is
/// used afterwards, destroyed twice or left until aclFinalize is found.
class LiveObjects {
public:
  static LiveObjects &get();

  /// `kind` is the type's name, such as aclTensor.
  void add(const void *object, llvm::StringRef kind);
  /// False if there is no such object.
  bool remove(const void *object, llvm::StringRef kind);
  bool has(const void *object, llvm::StringRef kind);

private:
  LiveObjects();
  /// Forgets all; the text says how many of each kind there were.
  std::string takeLeft();

  std::mutex mutex;
  std::map<const void *, llvm::StringRef> objects;
};

} // namespace mf::hostcann

#endif // MF_HOSTCANN_OBJECTS_LIVEOBJECTS_H

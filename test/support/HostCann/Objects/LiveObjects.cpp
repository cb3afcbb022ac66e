//===- LiveObjects.cpp - Objects of aclnn that are not destroyed ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Objects/LiveObjects.h"
#include "HostCann/Runtime/Runtime.h"

namespace mf::hostcann {

LiveObjects &LiveObjects::get() {
  // The object is never destroyed, because the program's own destructors may
  // destroy other objects later.
  static auto *live = new LiveObjects;
  return *live;
}

LiveObjects::LiveObjects() {
  Runtime::get().addLeakReport([this] { return takeLeft(); });
}

void LiveObjects::add(const void *object, llvm::StringRef kind) {
  std::lock_guard<std::mutex> lock(mutex);
  objects[object] = kind;
}

bool LiveObjects::remove(const void *object, llvm::StringRef kind) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = objects.find(object);
  if (found == objects.end() || found->second != kind)
    return false;
  objects.erase(found);
  return true;
}

bool LiveObjects::has(const void *object, llvm::StringRef kind) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = objects.find(object);
  return found != objects.end() && found->second == kind;
}

std::string LiveObjects::takeLeft() {
  std::lock_guard<std::mutex> lock(mutex);
  std::map<llvm::StringRef, size_t> left;
  for (const auto &[object, kind] : objects)
    ++left[kind];
  objects.clear();
  std::string text;
  for (const auto &[kind, number] : left)
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " of " +
            kind.str();
  return text;
}

} // namespace mf::hostcann

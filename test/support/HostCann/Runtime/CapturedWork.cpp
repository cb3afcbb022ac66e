//===- CapturedWork.cpp - Work of streams that runs again -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/CapturedWork.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::hostcann {

size_t CapturedWork::addStream() {
  clocks.emplace_back();
  return clocks.size() - 1;
}

void CapturedWork::add(CapturedItem item) {
  const auto stream = static_cast<uint32_t>(item.stream);
  clocks[stream].set(stream, clocks[stream].get(stream) + 1);
  items.push_back(std::move(item));
}

void CapturedWork::addWork(size_t stream, const char *name,
                           llvm::ArrayRef<LaunchAccess> accesses,
                           llvm::unique_function<llvm::Error()> work) {
  CapturedItem item;
  item.stream = stream;
  item.name = name;
  item.accesses = accesses.vec();
  item.work =
      std::make_shared<llvm::unique_function<llvm::Error()>>(std::move(work));
  add(std::move(item));
}

size_t CapturedWork::addRecord(size_t stream) {
  CapturedItem item;
  item.kind = CapturedItem::Kind::Record;
  item.stream = stream;
  item.record = records.size();
  add(std::move(item));
  records.push_back(clocks[stream]);
  return records.size() - 1;
}

void CapturedWork::addWait(size_t stream, size_t record) {
  clocks[stream].join(records[record]);
  CapturedItem item;
  item.kind = CapturedItem::Kind::Wait;
  item.stream = stream;
  item.record = record;
  add(std::move(item));
}

size_t CapturedWork::findUnjoined() const {
  for (size_t stream = 1; stream < clocks.size(); ++stream) {
    const auto number = static_cast<uint32_t>(stream);
    if (clocks[0].get(number) < clocks[stream].get(number))
      return stream;
  }
  return 0;
}

} // namespace mf::hostcann

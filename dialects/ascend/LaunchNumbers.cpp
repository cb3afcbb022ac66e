//===- LaunchNumbers.cpp - Events of calls, renumbered --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/LaunchNumbers.h"

using namespace mlir;

void mf::ascend::renumberRecords(CallOp call, ArrayRef<int64_t> numbers) {
  const ArrayRef<int64_t> old = call.getRecords().value_or(ArrayRef<int64_t>());
  SmallVector<int64_t> records;
  SmallVector<size_t> places;
  for (int64_t record : old) {
    const int64_t number =
        numbers[std::min<size_t>(record, numbers.size() - 1)];
    if (records.empty() || records.back() != number)
      records.push_back(number);
    places.push_back(records.size() - 1);
  }
  if (records.size() == old.size()) {
    if (!old.empty())
      call.setRecords(records);
    return;
  }
  OpBuilder builder(call);
  const SmallVector<Type> types(records.size(),
                                EventType::get(call.getContext()));
  auto merged = CallOp::create(
      builder, call.getLoc(), types, call.getRoutineAttr(), call.getArguments(),
      call.getFrame(), call.getMicroBatchAttr(), call.getScratchOffsetAttr(),
      builder.getDenseI64ArrayAttr(records), call.getAfter());
  for (auto [event, place] : llvm::zip_equal(call.getEvents(), places))
    event.replaceAllUsesWith(merged.getEvents()[place]);
  call.erase();
}

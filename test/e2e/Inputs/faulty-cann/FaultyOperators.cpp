//===- FaultyOperators.cpp - Faults in calls of aclnn ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FaultPlan.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "hccl/hccl.h"
#include <set>
#include <utility>

extern "C" {

//===----------------------------------------------------------------------===//
// Arguments of operators
//===----------------------------------------------------------------------===//

aclTensor *aclCreateTensor(const int64_t *dims, uint64_t numDims,
                           aclDataType type, const int64_t *strides,
                           int64_t offset, aclFormat format,
                           const int64_t *storage, uint64_t numStorage,
                           void *data) {
  const std::string change = plan().next("tensor");
  const uint64_t choice = plan().getChoice();
  std::vector<int64_t> newDims(dims, dims + numDims);
  std::vector<int64_t> newStrides(strides, strides + numDims);
  static void *lastData = nullptr;
  void *previous = std::exchange(lastData, data);
  if (change == "of another type") {
    constexpr aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,
                                     ACL_INT32, ACL_INT64,   ACL_BOOL};
    const aclDataType other = types[choice % 6];
    type = other == type ? types[(choice + 1) % 6] : other;
  }
  if (change == "of another size" && numDims > 0)
    newDims[choice % numDims] += choice % 2 ? 1 : -1;
  if (change == "of another rank" && numDims > 0)
    --numDims;
  if (change == "with other strides" && numDims > 0)
    newStrides[choice % numDims] *= 2;
  if (change == "at another place")
    data = shift(data, static_cast<int64_t>(64 * (1 + choice % 64)) *
                           (choice % 2 ? 1 : -1));
  if (change == "not aligned")
    data = shift(data, 4);
  if (change == "at an offset")
    offset += 8;
  if (change == "at another tensor's place")
    data = previous;
  if (change == "in host memory")
    data = plan().find("host memory");
  if (change == "in a private format")
    format = ACL_FORMAT_FRACTAL_NZ;
  if (change == "without data")
    data = nullptr;
  if (change == "left out")
    return nullptr;
  aclTensor *made =
      NEXT(aclCreateTensor)(newDims.data(), numDims, type, newStrides.data(),
                            offset, format, storage, numStorage, data);
  if (change == "destroyed early")
    NEXT(aclDestroyTensor)(made);
  return made;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
  return release("destroyed tensor",
                 [=] { return NEXT(aclDestroyTensor)(tensor); });
}

aclScalar *aclCreateScalar(void *value, aclDataType type) {
  const std::string change = plan().next("scalar");
  float other = 0;
  if (type == ACL_FLOAT && change == "of another value") {
    other = *static_cast<float *>(value) * 1.5F + 0.25F;
    value = &other;
  }
  return NEXT(aclCreateScalar)(value, type);
}

aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t size) {
  const std::string change = plan().next("numbers");
  std::vector<int64_t> other(values, values + size);
  if (change == "of another value" && size > 0)
    other[plan().getChoice() % size] += plan().getChoice() % 2 ? 1 : -1;
  return NEXT(aclCreateIntArray)(other.data(), size);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Executors that CANN frees only when the program says so.
static std::set<aclOpExecutor *> &getRepeatable() {
  static auto *executors = new std::set<aclOpExecutor *>;
  return *executors;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
  if (plan().next("repeatable executor") == "that is not made so")
    return ACLNN_SUCCESS;
  getRepeatable().insert(executor);
  return NEXT(aclSetAclOpExecutorRepeatable)(executor);
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
  const auto next = [=] { return NEXT(aclDestroyAclOpExecutor)(executor); };
  return getRepeatable().erase(executor) ? release("destroyed executor", next)
                                         : next();
}

using Launch = aclnnStatus(void *, uint64_t, aclOpExecutor *, aclrtStream);

static void endEarly(const std::string &change) {
  FaultPlan &plan = FaultPlan::get();
  if (change == "behind a release")
    NEXT(aclrtFree)(plan.find("memory"));
  if (change == "behind a release of host memory")
    NEXT(aclrtFreeHost)(plan.find("host memory"));
  if (change == "behind a destroyed stream")
    NEXT(aclrtDestroyStream)(plan.find("stream"));
  if (change == "behind a destroyed event" && plan.find("event"))
    NEXT(aclrtDestroyEvent)(plan.find("event"));
  if (change == "behind a destroyed communicator" && plan.find("communicator"))
    NEXT(HcclCommDestroy)(plan.find("communicator"));
}

static aclnnStatus launch(Launch *next, void *workspace, uint64_t bytes,
                          aclOpExecutor *executor, aclrtStream stream) {
  const std::string change = plan().next("launch");
  endEarly(change);
  // As a device that has failed.
  if (change == "refused")
    return 361001;
  if (change == "without its second phase")
    return ACLNN_SUCCESS;
  if (change == "dropped")
    return getRepeatable().count(executor)
               ? ACLNN_SUCCESS
               : NEXT(aclDestroyAclOpExecutor)(executor);
  if (change == "on another stream")
    stream = plan().findOther("stream", stream);
  if (change == "on the default stream")
    stream = nullptr;
  if (change == "with a shorter workspace")
    bytes /= 2;
  if (change == "without a workspace")
    workspace = nullptr;
  if (change == "with a workspace elsewhere" && bytes > 0)
    workspace = plan().find("memory");
  if (change == "twice")
    if (const int code = next(workspace, bytes, executor, stream))
      return code;
  return plan().callInTurn("launch", change == "late", [=] {
    return next(workspace, bytes, executor, stream);
  });
}

#define OPERATOR(NAME)                                                         \
  aclnnStatus NAME(void *workspace, uint64_t bytes, aclOpExecutor *executor,   \
                   aclrtStream stream) {                                       \
    return launch(reinterpret_cast<Launch *>(findNext(#NAME)), workspace,      \
                  bytes, executor, stream);                                    \
  }
// A line `OPERATOR(aclnnX)` for each operator of the program.
#include "operators.inc"

} // extern "C"

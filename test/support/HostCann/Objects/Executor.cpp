//===- Executor.cpp - The second phase of operators -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Objects/LiveObjects.h"
#include "HostCann/Objects/Objects.h"
#include "HostCann/Runtime/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <mutex>
#include <set>

namespace mf::hostcann {
namespace {

constexpr uintptr_t dataAlignment = 32;

constexpr const char *executorKind = "aclOpExecutor";

/// Returns whether unaligned tensors are allowed. A program whose other calls
/// are to be checked first is run with the variable set.
bool allowsUnaligned() {
  return std::getenv("MF_HOST_CANN_ALLOW_UNALIGNED") != nullptr;
}

bool isAlive(const aclOpExecutor *executor) {
  return LiveObjects::get().has(executor, executorKind);
}

void destroyExecutor(const aclOpExecutor *executor) {
  LiveObjects::get().remove(executor, executorKind);
  delete executor;
}

/// The operators that ran with an executor for a single run, with the types,
/// sizes and strides of their tensors. CANN caches what it prepared for such a
/// call, and an executor made from the cache cannot be made repeatable.
class PreparedCalls {
public:
  static PreparedCalls &get() {
    static auto *calls = new PreparedCalls;
    return *calls;
  }
  void add(const aclOpExecutor &executor) {
    std::lock_guard<std::mutex> lock(mutex);
    calls.insert(describe(executor));
  }
  bool has(const aclOpExecutor &executor) {
    std::lock_guard<std::mutex> lock(mutex);
    return calls.count(describe(executor)) > 0;
  }

private:
  static std::string describe(const aclOpExecutor &executor) {
    std::string text = executor.name;
    llvm::raw_string_ostream os(text);
    for (const BoundTensor &operand : executor.operands) {
      os << " " << static_cast<int>(operand.tensor.type) << ":";
      llvm::interleave(operand.tensor.dims, os, "x");
      os << "/";
      llvm::interleave(operand.tensor.strides, os, ",");
    }
    return text;
  }

  std::mutex mutex;
  std::set<std::string> calls;
};

/// Sets the address of a tensor of an executor, given its number among the
/// tensors that are read, or among those that are written.
aclnnStatus setAddress(aclOpExecutor *executor, size_t index, bool isOutput,
                       aclTensor *tensor, void *address) {
  if (!executor || !tensor || !address)
    return fail(ACLNN_ERR_PARAM_NULLPTR, "an address is set with a null");
  if (!isAlive(executor) || !executor->isRepeatable)
    return fail(ACLNN_ERR_PARAM_INVALID,
                "addresses are set for executors that are repeatable");
  size_t place = 0;
  for (BoundTensor &operand : executor->operands) {
    if ((isOutput ? operand.isWritten && !operand.isRead : operand.isRead) &&
        place++ == index) {
      operand.tensor.data = address;
      tensor->data = address;
      return ACLNN_SUCCESS;
    }
  }
  return fail(ACLNN_ERR_PARAM_INVALID,
              llvm::Twine(executor->name) + " has no tensor " +
                  llvm::Twine(index) + " to set an address of");
}

} // namespace

int failOperator(int code, const char *name, const llvm::Twine &text) {
  return fail(code, llvm::Twine(name) + ": " + text);
}

void registerExecutor(aclOpExecutor *executor) {
  LiveObjects::get().add(executor, executorKind);
}

aclnnStatus runExecutor(const char *name, void *workspace, uint64_t bytes,
                        aclOpExecutor *executor, aclrtStream stream) {
  if (!executor)
    return failOperator(ACLNN_ERR_PARAM_NULLPTR, name, "the executor is null");
  if (!isAlive(executor))
    return failOperator(ACLNN_ERR_PARAM_INVALID, name,
                        "the executor ran before, which freed it: make it "
                        "repeatable, or make a new one");
  if (llvm::StringRef(executor->name) != name)
    return failOperator(ACLNN_ERR_PARAM_INVALID, name,
                        llvm::Twine("the executor is one of ") +
                            executor->name);
  const uint64_t needed = executor->workspaceBytes;
  if (needed && (!workspace || bytes < needed))
    return failOperator(
        workspace ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR, name,
        llvm::Twine("the workspace has ") + llvm::Twine(workspace ? bytes : 0) +
            " bytes, expected " + llvm::Twine(needed));
  llvm::SmallVector<LaunchAccess, 8> accesses;
  llvm::SmallVector<void *, 8> places;
  for (const BoundTensor &operand : executor->operands) {
    const aclTensor &tensor = operand.tensor;
    const size_t size = tensor.getSpanBytes();
    if (executor->isRepeatable && !isAlive(operand.object))
      return failOperator(ACLNN_ERR_PARAM_INVALID, name,
                          operand.name + " was destroyed, but tensors of a "
                                         "repeatable executor live as long");
    if (size && !allowsUnaligned() &&
        reinterpret_cast<uintptr_t>(tensor.data) % dataAlignment != 0)
      return failOperator(ACLNN_ERR_PARAM_INVALID, name,
                          operand.name + " is not aligned to 32 bytes");
    places.push_back(tensor.getFirst());
    if (operand.isRead)
      accesses.push_back({tensor.getFirst(), size, false, true, false,
                          operand.name, tensor.type});
    if (operand.isWritten)
      accesses.push_back({tensor.getFirst(), size, true, false, false,
                          operand.name, tensor.type});
  }
  if (needed)
    accesses.push_back({workspace, needed, true, false, false, "workspace"});
  const int code = Runtime::get().launch(
      stream, executor->name, accesses,
      [name, body = executor->body, places, workspace]() -> llvm::Error {
        if (llvm::Error error = body(places, workspace))
          return llvm::createStringError(llvm::Twine(name) + ": " +
                                         llvm::toString(std::move(error)));
        return llvm::Error::success();
      });
  if (code != ACL_SUCCESS)
    return ACLNN_ERR_RUNTIME_ERROR;
  if (!executor->isRepeatable) {
    PreparedCalls::get().add(*executor);
    destroyExecutor(executor);
  }
  return ACLNN_SUCCESS;
}

} // namespace mf::hostcann

using namespace mf::hostcann;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
  if (!executor)
    return fail(ACLNN_ERR_PARAM_NULLPTR, "the executor is null");
  if (!isAlive(executor))
    return fail(ACLNN_ERR_PARAM_INVALID, "the executor was freed");
  if (PreparedCalls::get().has(*executor))
    return failOperator(ACLNN_ERR_PARAM_INVALID, executor->name,
                        "the executor is of CANN's cache, since this call ran "
                        "before: make executors repeatable ahead of that");
  executor->isRepeatable = true;
  return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
  if (!executor)
    return ACLNN_SUCCESS;
  if (!isAlive(executor))
    return fail(ACLNN_ERR_PARAM_INVALID, "the executor was freed before");
  destroyExecutor(executor);
  return ACLNN_SUCCESS;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
                                  aclTensor *tensor, void *address) {
  return setAddress(executor, index, /*isOutput=*/false, tensor, address);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
                                   aclTensor *tensor, void *address) {
  return setAddress(executor, index, /*isOutput=*/true, tensor, address);
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *address) {
  if (!tensor)
    return fail(ACLNN_ERR_PARAM_NULLPTR, "the tensor is null");
  tensor->data = address;
  return ACLNN_SUCCESS;
}

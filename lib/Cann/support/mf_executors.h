//===- mf_executors.h - Operators that are prepared once --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// CANN prepares an operator for its arguments, which makes an executor, and
// then runs the executor. Each step calls the same operators in the same order,
// most of them with the same arguments, so that their executors are kept and
// run again.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_EXECUTORS_H
#define MF_LIB_CANN_SUPPORT_MF_EXECUTORS_H

#include "mf_cann.h"
#include <cstdlib>
#include <tuple>

namespace mf_cann {

/// The second phase of an operator.
using LaunchPhase = aclnnStatus (*)(void *, uint64_t, aclOpExecutor *,
                                    aclrtStream);

/// An operator with its arguments, which live as long as it. It is not a
/// template, because a program has hundreds of operators and each one would be
/// compiled separately.
class CannExecutor {
public:
  CannExecutor() = default;
  CannExecutor(const CannExecutor &) = delete;
  CannExecutor &operator=(const CannExecutor &) = delete;
  ~CannExecutor() {
    aclDestroyAclOpExecutor(executor);
    for (const OwnedObject &argument : arguments)
      if (argument.object)
        argument.destroy(argument.object);
  }

  /// Runs the first phase of an operator.
  template <typename... Parameters, typename... Given>
  aclnnStatus prepare(aclnnStatus (*phase)(Parameters...), Given &...given) {
    const aclnnStatus status = phase(given..., &bytes, &executor);
    arguments = {releaseObject(given)...};
    return status;
  }
  /// Returns false if CANN allows only one run of this executor.
  bool makeRepeatable() {
    isRepeatable = aclSetAclOpExecutorRepeatable(executor) == 0;
    if (!isRepeatable)
      aclGetRecentErrMsg();
    return isRepeatable;
  }

  uint64_t getWorkspaceBytes() const { return bytes; }
  aclnnStatus run(LaunchPhase phase, void *workspace, aclrtStream stream) {
    // CANN frees an executor that is not repeatable.
    aclOpExecutor *running = executor;
    if (!isRepeatable)
      executor = nullptr;
    return phase(bytes ? workspace : nullptr, bytes, running, stream);
  }

private:
  std::vector<OwnedObject> arguments;
  aclOpExecutor *executor = nullptr;
  uint64_t bytes = 0;
  bool isRepeatable = false;
};

/// The executors of a stream that are kept. The key is the part of the step,
/// the number of the kernel in it, and the number of the operator in the
/// kernel. None are kept if MF_NEW_EXECUTORS is set.
class KeptExecutors {
public:
  /// Starts a part of the step, by its number.
  void startPart(size_t number) {
    part = number;
    kernel = 0;
  }
  void startKernel() {
    ++kernel;
    call = 0;
    isVarying = false;
  }
  /// Notes that arguments of the running kernel change from step to step, so
  /// that its executors are not kept.
  void noteVarying() { isVarying = true; }

  /// Advances to the next operator. Returns its executor, or null if none is
  /// kept.
  CannExecutor *next() {
    auto found = kept.find({part, kernel, call++});
    return found == kept.end() ? nullptr : found->second.get();
  }
  /// Keeps the executor of the operator to which `next` advanced, if possible.
  void keep(std::unique_ptr<CannExecutor> executor) {
    if (!isVarying && !std::getenv("MF_NEW_EXECUTORS") &&
        executor->makeRepeatable())
      kept[{part, kernel, call - 1}] = std::move(executor);
  }
  size_t size() const { return kept.size(); }

private:
  std::map<std::tuple<size_t, size_t, size_t>, std::unique_ptr<CannExecutor>>
      kept;
  size_t part = 0, kernel = 0, call = 0;
  bool isVarying = false;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_EXECUTORS_H

//===- mf_executors.h - Operators that are prepared once --------*- C++ -*-===//
//
// CANN prepares an operator for its arguments, which gives an executor, and
// runs that. Each step calls the same operators in the same order, most of them
// with the same arguments: their executors are kept and run again.
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

/// An operator with its arguments, which live as long. Not a template, since a
/// program has hundreds of operators, and each one would be compiled anew.
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
  /// False if CANN lets this one run only once.
  bool makeRepeatable() {
    isRepeatable = aclSetAclOpExecutorRepeatable(executor) == 0;
    if (!isRepeatable)
      aclGetRecentErrMsg();
    return isRepeatable;
  }

  uint64_t getWorkspaceBytes() const { return bytes; }
  aclnnStatus run(LaunchPhase phase, void *workspace, aclrtStream stream) {
    // One that is not repeatable is freed by CANN.
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

/// The executors of a stream that are kept, by the part of the step, the number
/// of the kernel in it and that of the operator in the kernel. With
/// MF_NEW_EXECUTORS set there are none.
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
  /// The kernel that runs has arguments that the next step changes.
  void noteVarying() { isVarying = true; }

  /// Goes on to the next operator. Null if none is kept for it.
  CannExecutor *next() {
    auto found = kept.find({part, kernel, call++});
    return found == kept.end() ? nullptr : found->second.get();
  }
  /// Keeps the executor of the operator to which `next` went, if it can be.
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

//===- mf_kept.h - What operators make, for comparisons ---------*- C++ -*-===//
//
// With --dump-tensors the last step waits behind each operator of a micro-batch
// and keeps what it has made.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KEPT_H
#define MF_KEPT_H

#include "mf/Step/StepRun.h"
#include "mf_cann.h"
#include <initializer_list>

namespace mf_cann {

/// An output of an operator; without a name if it is the only one.
struct KeptOutput {
  const char *name;
  const CannTensor &tensor;
};

class KeptValues {
public:
  void start() { isOn = true; }
  bool isStarted() const { return isOn; }
  std::vector<mf::step::KeptOperator> take() {
    isOn = false;
    return std::move(operators);
  }

  /// Says that all that follows, until `leave`, is of a micro-batch.
  void enter(int64_t number, bool forward) {
    microBatch = number;
    isForward = forward;
  }
  void leave() { microBatch = -1; }
  bool keeps() const { return isOn && microBatch >= 0; }

  /// Adds what an operator has made; the device must have made it.
  void add(const char *place, std::initializer_list<KeptOutput> made) {
    mf::step::KeptOperator run{microBatch, isForward, place, {}};
    for (const KeptOutput &each : made)
      if (const char *type = getTypeName(each.tensor.type)) {
        const Dims &dims = each.tensor.dims;
        mf::step::KeptTensor kept{
            each.name, type, {dims.begin(), dims.end()}, {}};
        kept.bytes.resize(static_cast<size_t>(count(each.tensor.dims) *
                                              getBytes(each.tensor.type)));
        if (!kept.bytes.empty())
          check(aclrtMemcpy(kept.bytes.data(), kept.bytes.size(),
                            each.tensor.data, kept.bytes.size(),
                            ACL_MEMCPY_DEVICE_TO_HOST),
                "aclrtMemcpy");
        run.made.push_back(std::move(kept));
      }
    operators.push_back(std::move(run));
  }

private:
  bool isOn = false, isForward = true;
  /// Negative outside of micro-batches.
  int64_t microBatch = -1;
  std::vector<mf::step::KeptOperator> operators;
};

} // namespace mf_cann

#endif // MF_KEPT_H

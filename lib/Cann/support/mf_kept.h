//===- mf_kept.h - What operators make, for comparisons ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With --dump-tensors, the last step waits after each operator of a micro-batch
// and keeps its outputs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_KEPT_H
#define MF_LIB_CANN_SUPPORT_MF_KEPT_H

#include "mf/Step/StepRun.h"
#include "mf_cann.h"
#include <initializer_list>

namespace mf_cann {

/// An output of an operator, or all outputs of one name; without a name if it
/// is the only one.
struct KeptOutput {
  KeptOutput(const char *given, const CannTensor &tensor)
      : name(given), begin(&tensor), end(&tensor + 1) {}
  KeptOutput(const char *given, const std::vector<CannTensor> &tensors)
      : name(given), begin(tensors.data()),
        end(tensors.data() + tensors.size()) {}

  const char *name;
  const CannTensor *begin, *end;
};

class KeptValues {
public:
  void start() { isOn = true; }
  bool isStarted() const { return isOn; }
  std::vector<mf::step::KeptOperator> take() {
    isOn = false;
    return std::move(operators);
  }

  /// Begins a micro-batch, to which all operators until `leave` belong.
  void enter(int64_t number, bool forward) {
    microBatch = number;
    isForward = forward;
  }
  void leave() { microBatch = -1; }
  bool keeps() const { return isOn && microBatch >= 0; }

  /// Adds the outputs of an operator, which the device must have finished.
  void add(const char *place, std::initializer_list<KeptOutput> made) {
    mf::step::KeptOperator run{microBatch, isForward, place, {}};
    for (const KeptOutput &each : made)
      for (const CannTensor *tensor = each.begin; tensor != each.end; ++tensor)
        if (const char *type = getTypeName(tensor->type))
          run.made.push_back(read(each.name, type, *tensor));
    operators.push_back(std::move(run));
  }

private:
  static mf::step::KeptTensor read(const char *name, const char *type,
                                   const CannTensor &tensor) {
    const Dims &dims = tensor.dims;
    mf::step::KeptTensor kept{name, type, {dims.begin(), dims.end()}, {}};
    kept.bytes.resize(static_cast<size_t>(count(dims) * getBytes(tensor.type)));
    if (!kept.bytes.empty())
      check(aclrtMemcpy(kept.bytes.data(), kept.bytes.size(), tensor.data,
                        kept.bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
    return kept;
  }

  bool isOn = false, isForward = true;
  /// The current micro-batch; negative between micro-batches.
  int64_t microBatch = -1;
  std::vector<mf::step::KeptOperator> operators;
};

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_KEPT_H

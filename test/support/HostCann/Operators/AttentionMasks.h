//===- AttentionMasks.h - Which keys a query sees ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ATTENTIONMASKS_H
#define MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ATTENTIONMASKS_H

#include "OperatorCall.h"
#include <atomic>

namespace mf::hostcann {

/// The arguments that decide which keys a query sees.
struct MaskArguments {
  const aclTensor *attenMask;
  int64_t sparseMode, preTokens, nextTokens;
};

/// The keys that queries do not see, in the form that kernels of the emulated
/// device take.
class AttentionMask {
public:
  /// Reports what the kernels do not support. Query and key are [batch, heads,
  /// sequence, dim].
  AttentionMask(OperatorCall &call, const MaskArguments &arguments,
                const aclTensor &query, const aclTensor &key);

  /// Adds the mask to the operands of a call, if there is one.
  void read(OperatorCall &call);

  bool isCausal() const { return sees != Sees::All; }
  /// True if queries are a part of as many queries as there are keys.
  bool isPart() const {
    return sees == Sees::Part || (sees == Sees::Documents && queries < keys);
  }
  bool hasDocuments() const { return sees == Sees::Documents; }
  TensorShape getStarts() const { return {DType::I32, {batch, queries}}; }

  /// The values that kernels take in addition to the operands of the call: the
  /// position of the first query, and for each query the first key that it
  /// sees.
  struct Values {
    int32_t first = 0;
    std::vector<int32_t> starts;
  };
  /// Reads the mask of a run, given the addresses of the call's operands. Fails
  /// if the mask does not agree with the sparse mode. A mask that never changes
  /// is checked once, because reading it takes longer than small attention
  /// does.
  llvm::Expected<Values> getValues(llvm::ArrayRef<void *> places) const;

private:
  enum class Sees : uint8_t { All, Causal, Part, Documents };

  void checkCompressed(OperatorCall &call, const MaskArguments &arguments);
  void checkWhole(OperatorCall &call);
  llvm::Expected<Values> readWhole(const uint8_t *hidden) const;

  const aclTensor *mask;
  Sees sees = Sees::All;
  int64_t batch, queries, keys;
  int64_t first = 0;
  size_t operand = 0;
  std::shared_ptr<std::atomic<bool>> isChecked =
      std::make_shared<std::atomic<bool>>(false);
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ATTENTIONMASKS_H

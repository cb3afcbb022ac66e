//===- RecomputePlan.cpp - Which operators backward runs again ------------===//

#include "passes/recompute/RecomputePlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

RecomputePlan planRecompute(llvm::ArrayRef<ForwardOperator> operators) {
  // Users come after producers, so one walk from the end sees every need
  // before the operator it is about.
  std::vector<bool> needed(operators.size());
  RecomputePlan plan;
  for (int64_t index = static_cast<int64_t>(operators.size()) - 1; index >= 0;
       --index) {
    const ForwardOperator &op = operators[index];
    if (!op.isReadByBackward && !needed[index])
      continue;
    if (op.isMarked) {
      plan.clones.push_back(index);
      plan.flops += op.flops;
      plan.droppedBytes += op.isFree ? 0 : op.readBytes;
    } else if (!op.isFree) {
      if (needed[index])
        plan.kept.push_back(index);
      continue;
    }
    for (int64_t producer : op.producers)
      needed[producer] = true;
  }
  std::reverse(plan.clones.begin(), plan.clones.end());
  std::reverse(plan.kept.begin(), plan.kept.end());
  return plan;
}

void RecomputePlan::print(llvm::ArrayRef<ForwardOperator> operators,
                          llvm::raw_ostream &os) const {
  os << "recompute plan: " << clones.size() << " operators run again, "
     << droppedBytes << " bytes not kept, " << flops << " flops more\n";
  for (int64_t index : clones)
    os << "  clone " << operators[index].name << "\n";
  for (int64_t index : kept)
    os << "  keep " << operators[index].name << "\n";
}

} // namespace mf::passes

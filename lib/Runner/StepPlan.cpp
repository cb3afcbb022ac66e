//===- StepPlan.cpp - A rank's step, ready to issue -----------------------===//

#include "StepPlan.h"

using namespace mf::program;

namespace mf::runner {

namespace {

class ListPlanner {
public:
  ListPlanner(const InstructionList &list,
              llvm::ArrayRef<std::unique_ptr<Kernel>> kernels)
      : list(list), kernels(kernels) {}

  ListPlan plan() {
    result.numEvents = list.numEvents;
    for (uint32_t i = 0; i < list.instructions.size(); ++i)
      std::visit([&](const auto &action) { add(action, i); },
                 list.instructions[i].action);
    return std::move(result);
  }

private:
  PlannedOperand planOperand(const Operand &operand) const {
    const Buffer &buffer = list.buffers[operand.buffer];
    PlannedOperand planned;
    planned.base = static_cast<uint32_t>(buffer.address.base);
    if (buffer.address.base == Base::Argument)
      planned.base += buffer.address.argument;
    planned.offset = buffer.address.offset + operand.offset;
    planned.bytes = operand.bytes;
    return planned;
  }

  bool isHost(const Operand &operand) const {
    return list.buffers[operand.buffer].space == Space::Host;
  }

  void add(const Launch &launch, uint32_t number) {
    PlannedLaunch planned;
    planned.kernel = kernels[launch.kernel].get();
    planned.firstOperand = result.operands.size();
    planned.numInputs = launch.inputs.size();
    planned.numOutputs = launch.outputs.size();
    planned.instruction = number;
    for (const Operand &operand : launch.inputs)
      result.operands.push_back(planOperand(operand));
    for (const Operand &operand : launch.outputs)
      result.operands.push_back(planOperand(operand));
    const uint32_t index = result.launches.size();
    result.launches.push_back(planned);
    auto *range = result.actions.empty()
                      ? nullptr
                      : std::get_if<LaunchRange>(&result.actions.back().what);
    if (range)
      ++range->end;
    else
      result.actions.push_back({LaunchRange{index, index + 1}, number});
  }

  void add(const Call &call, uint32_t number) {
    PlannedCall planned;
    planned.call = &call;
    for (const Operand &argument : call.arguments)
      planned.arguments.push_back(planOperand(argument));
    result.actions.push_back({std::move(planned), number});
  }

  void add(const Record &record, uint32_t number) {
    result.actions.push_back({record, number});
  }

  void add(const Wait &wait, uint32_t number) {
    result.actions.push_back({wait, number});
  }

  void add(const Copy &copy, uint32_t number) {
    PlannedCopy planned;
    planned.stream = copy.stream;
    planned.source = planOperand(copy.source);
    planned.target = planOperand(copy.target);
    planned.fromHost = isHost(copy.source);
    planned.toHost = isHost(copy.target);
    result.actions.push_back({planned, number});
  }

  void add(const Transfer &transfer, uint32_t number) {
    PlannedTransfer planned;
    planned.stream = transfer.stream;
    planned.channel = transfer.channel;
    planned.buffer = planOperand(transfer.buffer);
    planned.isSend = transfer.isSend;
    result.actions.push_back({planned, number});
  }

  void add(const AllReduce &reduce, uint32_t number) {
    PlannedReduction planned;
    planned.stream = reduce.stream;
    planned.channel = reduce.channel;
    planned.buffer = planOperand(reduce.buffer);
    planned.type = reduce.buffer.shape.type;
    result.actions.push_back({planned, number});
  }

  const InstructionList &list;
  llvm::ArrayRef<std::unique_ptr<Kernel>> kernels;
  ListPlan result;
};

} // namespace

ListPlan planList(const InstructionList &list,
                  llvm::ArrayRef<std::unique_ptr<Kernel>> kernels) {
  return ListPlanner(list, kernels).plan();
}

} // namespace mf::runner

//===- TensorDump.cpp - Results of operators in a step --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/TensorDump.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::ranks {

llvm::Expected<std::shared_ptr<TensorDump>>
TensorDump::create(llvm::StringRef pattern, llvm::StringRef path) {
  // A braced list may not multiply without end.
  constexpr size_t maxPatterns = 1024;
  auto glob = llvm::GlobPattern::create(pattern, maxPatterns);
  if (!glob)
    return llvm::createStringError("--dump-tensors: '" + pattern +
                                   "': " + llvm::toString(glob.takeError()));
  return std::shared_ptr<TensorDump>(new TensorDump(std::move(*glob), path));
}

void TensorDump::beginStep(int64_t number, int64_t ranks) {
  step = number;
  ranksPerStage = ranks;
  microBatches.clear();
  numbers.clear();
  kept.clear();
}

void TensorDump::add(const OperatorRun &run, llvm::ArrayRef<MadeTensor> made) {
  if (run.cell.empty() || (!run.isForward && !run.cell.ends_with(".grad")))
    return;
  std::string place = "step." + std::to_string(step) + "/";
  if (ranksPerStage > 1)
    place += "rank." + std::to_string(run.rank) + "/";
  place += "micro." + std::to_string(run.microBatch) + "/";

  std::lock_guard<std::mutex> lock(mutex);
  Progress &progress = microBatches[{run.microBatch, run.rank % ranksPerStage}];
  ++progress.depth;
  for (const MadeTensor &tensor : made)
    progress.rounding =
        std::max(progress.rounding, getUnitRoundoff(tensor.shape.type));
  for (const MadeTensor &tensor : made) {
    std::string name = run.cell.str();
    if (!tensor.name.empty())
      name += ":" + tensor.name.str();
    const int64_t number = ++numbers[place + name];
    if (number > 1)
      name += "#" + std::to_string(number);
    // Masks are bits, for which files have no type.
    if (!pattern.match(name) || tensor.shape.type == DType::I1) {
      otherName = name;
      continue;
    }
    Kept &next = kept[run.microBatch].emplace_back();
    next.traced = {place + name, progress.depth, progress.rounding};
    next.shape = tensor.shape;
    next.bytes = tensor.bytes.take_front(tensor.shape.getBytes()).vec();
  }
}

void TensorDump::addGradients(TensorValues gradients) {
  Progress last;
  for (const auto &[number, progress] : microBatches) {
    last.depth = std::max(last.depth, progress.depth);
    last.rounding = std::max(last.rounding, progress.rounding);
  }
  // Each micro-batch is one more addition.
  last.depth += static_cast<int64_t>(microBatches.size());
  for (auto &[name, value] : gradients) {
    if (!pattern.match(name)) {
      otherName = name;
      continue;
    }
    Kept &next = kept[static_cast<int64_t>(microBatches.size())].emplace_back();
    next.traced = {"step." + std::to_string(step) + "/gradient/" + name,
                   last.depth,
                   std::max(last.rounding, getUnitRoundoff(value.shape.type))};
    next.shape = value.shape;
    next.bytes = std::move(value.bytes);
  }
}

llvm::Error TensorDump::write() {
  if (kept.empty())
    return llvm::createStringError(
        "--dump-tensors: no name fits the pattern" +
        (otherName.empty()
             ? std::string()
             : "; expected one for names such as '" + otherName + "'"));
  SafetensorsWriter writer;
  TensorTrace trace;
  for (const auto &[microBatch, tensors] : kept)
    for (const Kept &tensor : tensors) {
      if (llvm::Error error = writer.declare(tensor.traced.name, tensor.shape))
        return error;
      trace.push_back(tensor.traced);
    }
  writer.setMetadata("format", "mf");
  writer.setMetadata(traceKey, printTrace(trace));
  if (llvm::Error error = writer.open(path))
    return error;
  for (const auto &[microBatch, tensors] : kept)
    for (const Kept &tensor : tensors)
      if (llvm::Error error = writer.write(tensor.traced.name, tensor.bytes))
        return error;
  step = 0;
  return writer.commit();
}

llvm::SmallVector<MadeTensor, 2>
describeOutputs(const KernelSignature &signature,
                llvm::ArrayRef<TensorShape> shapes,
                llvm::function_ref<llvm::ArrayRef<uint8_t>(size_t)> getBytes) {
  llvm::SmallVector<MadeTensor, 2> made;
  // A launch that leaves out optional outputs names the others alike.
  const bool hasNames = signature.outputs.size() > 1;
  for (auto [position, shape] : llvm::enumerate(shapes)) {
    const OperandSignature &output = signature.getOutput(position);
    // Sums that grow are no results of an operator.
    if (output.access != Access::Out)
      continue;
    made.push_back({hasNames ? output.name : llvm::StringRef(), shape,
                    getBytes(position)});
  }
  return made;
}

} // namespace mf::ranks

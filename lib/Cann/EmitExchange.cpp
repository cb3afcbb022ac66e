//===- EmitExchange.cpp - Exchanges as calls of HCCL ----------------------===//

#include "ProgramText.h"
#include "mf/Program/LocatedError.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::program;

namespace mf::cann {

static llvm::StringRef getHcclType(DType type) {
  switch (type) {
  case DType::F32:
    return "HCCL_DATA_TYPE_FP32";
  case DType::BF16:
    return "HCCL_DATA_TYPE_BFP16";
  case DType::F16:
    return "HCCL_DATA_TYPE_FP16";
  case DType::I32:
    return "HCCL_DATA_TYPE_INT32";
  case DType::I64:
    return "HCCL_DATA_TYPE_INT64";
  case DType::I1:
    return "HCCL_DATA_TYPE_UINT8";
  }
  llvm_unreachable("unknown type");
}

/// The function of the support header for a collective; empty if CANN has none
/// that the program can call.
static llvm::StringRef getFunction(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "allReduce";
  case CollectiveKind::AllGather:
    return "allGather";
  case CollectiveKind::ReduceScatter:
    return "reduceScatter";
  case CollectiveKind::AllToAll:
    return "allToAll";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::AllToAllV:
    return "";
  }
  llvm_unreachable("unknown collective");
}

llvm::Error emitExchange(const Program &program, const InstructionList &list,
                         const Instruction &instruction,
                         llvm::ArrayRef<std::string> places,
                         llvm::raw_ostream &os) {
  const Exchange &exchange = list.exchanges[instruction.index];
  const Channel &channel = program.channels[exchange.channel];
  const int64_t first = instruction.accesses.front().operand.bytes;
  auto emitBegin = [&](llvm::StringRef function) {
    os << llvm::formatv(
        "  // {0}\n  {1}({{rank, {2}, {3}, {4}}", channel.name, function,
        instruction.stream, exchange.channel,
        quote(instruction.cell.empty() ? channel.name : instruction.cell));
    os << ",\n      " << places.front();
    if (!channel.isTransfer)
      os << ",\n      " << places.back();
  };
  if (channel.isTransfer) {
    emitBegin(exchange.isSend ? "send" : "receive");
    os << ", " << first << ");\n";
    return llvm::Error::success();
  }
  const llvm::StringRef function = getFunction(exchange.kind);
  if (function.empty())
    return llvm::make_error<LocatedError>(
        instruction.location,
        "programs on CANN have no all_to_all_v yet: its counts are in the "
        "device's memory, but HCCL takes them from the host; run the step with "
        "mf-run");
  const bool isScatter = exchange.kind == CollectiveKind::ReduceScatter;
  const int64_t last = instruction.accesses.back().operand.bytes;
  emitBegin(function);
  os << ", " << (isScatter ? last : first) / getBytes(exchange.type) << ", "
     << getHcclType(exchange.type);
  if (isScatter || exchange.kind == CollectiveKind::AllReduce)
    os << (exchange.reduction == Reduction::Sum ? ", HCCL_REDUCE_SUM"
                                                : ", HCCL_REDUCE_MAX");
  if (exchange.kind == CollectiveKind::Broadcast)
    os << ", " << first;
  os << ");\n";
  return llvm::Error::success();
}

} // namespace mf::cann

//===- EmitExchange.cpp - Exchanges as calls of HCCL ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProgramText.h"
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

/// Returns the function of the support header that performs a collective.
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
    return "allToAllV";
  }
  llvm_unreachable("unknown collective");
}

/// Writes the name of the function and its first argument.
static void emitCall(const Channel &channel, llvm::StringRef function,
                     const Instruction &instruction, const Exchange &exchange,
                     llvm::raw_ostream &os) {
  os << llvm::formatv(
      "  // {0}\n  {1}({{rank, {2}, {3}, {4}}", channel.name, function,
      instruction.stream, exchange.channel,
      quote(instruction.cell.empty() ? channel.name : instruction.cell));
}

/// Writes an exchange of rows, whose counts are between input and output.
static void emitRows(const Program &program, const Instruction &instruction,
                     const Exchange &exchange,
                     llvm::ArrayRef<std::string> places,
                     llvm::raw_ostream &os) {
  const RowExchange &rows = exchange.rows;
  const int64_t bytes = getBytes(exchange.type);
  auto getRows = [&](size_t access) {
    return llvm::formatv("{0}({1}, {{{2}})", getName(exchange.type),
                         places[access],
                         instruction.accesses[access].operand.bytes / bytes)
        .str();
  };
  emitCall(program.channels[exchange.channel], getFunction(exchange.kind),
           instruction, exchange, os);
  os << llvm::formatv(",\n      {0}, {1},\n      {{{2}, {3}, {4}, {5}, {6}}, "
                      "{7});\n",
                      getRows(0), getRows(places.size() - 1), places[1],
                      places[2], rows.experts, rows.rowBytes / bytes,
                      getNumber(rows.fill), getHcclType(exchange.type));
}

/// Writes the statement that reports the result of a collective, as
/// OperatorDump does.
static void emitMade(const InstructionList &list,
                     const Instruction &instruction, const Exchange &exchange,
                     llvm::StringRef place, llvm::raw_ostream &os) {
  const Operand &operand = instruction.accesses.back().operand;
  TensorShape shape = list.buffers[operand.buffer].shape;
  // A part of a buffer has no shape of its own.
  if (shape.getBytes() != operand.bytes)
    shape.dims = {operand.bytes / getBytes(shape.type)};
  if (!instruction.cell.empty() && shape.type != DType::I1)
    os << llvm::formatv("  rank.stream({0}).tellMade({1}, {2}, {3}({4}, "
                        "{5}));\n",
                        instruction.stream, quote(instruction.cell),
                        quote(getName(exchange.kind)), getName(shape.type),
                        place, getList(shape.dims));
}

void emitExchange(const Program &program, const InstructionList &list,
                  const Instruction &instruction,
                  llvm::ArrayRef<std::string> places, llvm::raw_ostream &os) {
  const Exchange &exchange = list.exchanges[instruction.index];
  const Channel &channel = program.channels[exchange.channel];
  const int64_t first = instruction.accesses.front().operand.bytes;
  auto emitBegin = [&](llvm::StringRef function) {
    emitCall(channel, function, instruction, exchange, os);
    os << ",\n      " << places.front();
    if (!channel.isTransfer)
      os << ",\n      " << places.back();
  };
  if (channel.isTransfer) {
    emitBegin(exchange.isSend ? "send" : "receive");
    os << ", " << first << ");\n";
    return;
  }
  if (exchange.kind == CollectiveKind::AllToAllV) {
    emitRows(program, instruction, exchange, places, os);
    emitMade(list, instruction, exchange, places.back(), os);
    return;
  }
  const bool isScatter = exchange.kind == CollectiveKind::ReduceScatter;
  const int64_t last = instruction.accesses.back().operand.bytes;
  emitBegin(getFunction(exchange.kind));
  os << ", " << (isScatter ? last : first) / getBytes(exchange.type) << ", "
     << getHcclType(exchange.type);
  if (isScatter || exchange.kind == CollectiveKind::AllReduce)
    os << (exchange.reduction == Reduction::Sum ? ", HCCL_REDUCE_SUM"
                                                : ", HCCL_REDUCE_MAX");
  if (exchange.kind == CollectiveKind::Broadcast)
    os << ", " << first;
  os << ");\n";
  emitMade(list, instruction, exchange, places.back(), os);
}

} // namespace mf::cann

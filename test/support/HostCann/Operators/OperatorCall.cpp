//===- OperatorCall.cpp - The first phase of operators --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorCall.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Alignment.h"
#include <cstdlib>
#include <cstring>
#include <thread>

namespace mf::hostcann {
namespace {

constexpr uint64_t workspaceUnit = 512;

ThreadPool &getPool() {
  static auto *pool = new ThreadPool(
      static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  return *pool;
}

/// Returns the least workspace of an operator. If the variable is set, all
/// operators need a workspace, as most do on a device.
uint64_t getLeastWorkspace() {
  const char *text = std::getenv("MF_HOST_CANN_WORKSPACE");
  uint64_t bytes = 0;
  return text && !llvm::StringRef(text).getAsInteger(10, bytes) ? bytes : 0;
}

bool overlaps(const void *left, int64_t leftBytes, const void *right,
              int64_t rightBytes) {
  const auto a = reinterpret_cast<uintptr_t>(left);
  const auto b = reinterpret_cast<uintptr_t>(right);
  return a < b + rightBytes && b < a + leftBytes;
}

} // namespace

std::optional<DType> getKernelType(aclDataType type) {
  switch (type) {
  case ACL_FLOAT:
    return DType::F32;
  case ACL_BF16:
    return DType::BF16;
  case ACL_FLOAT16:
    return DType::F16;
  case ACL_INT32:
    return DType::I32;
  case ACL_INT64:
    return DType::I64;
  default:
    return std::nullopt;
  }
}

llvm::Expected<std::shared_ptr<OperatorKernel>>
OperatorKernel::make(const KernelSpec &spec) {
  if (llvm::Error error = prepareInstructionSet())
    return error;
  auto kernel = mf::makeKernel(spec);
  if (!kernel)
    return kernel.takeError();
  auto made = std::make_shared<OperatorKernel>();
  made->spec = spec;
  made->kernel = std::move(*kernel);
  return made;
}

size_t OperatorKernel::getWorkspaceBytes() const {
  return findKernelSignature(spec.name)->getWorkspaceBytes(spec);
}

void OperatorKernel::run(llvm::ArrayRef<void *> inputs,
                         llvm::ArrayRef<void *> outputs,
                         void *workspace) const {
  const KernelSignature &signature = *findKernelSignature(spec.name);
  llvm::SmallVector<void *, 8> places(inputs);
  std::vector<std::vector<char>> copies;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t bytes = spec.inputs[i].getBytes();
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (!overlaps(inputs[i], bytes, outputs[o], spec.outputs[o].getBytes()) ||
          (inputs[i] == outputs[o] && signature.mayShareMemory(o, i)))
        continue;
      const char *from = static_cast<const char *>(inputs[i]);
      copies.emplace_back(from, from + bytes);
      places[i] = copies.back().data();
      break;
    }
  }
  std::vector<char> own(workspace ? 0 : getWorkspaceBytes());
  kernel->run({places, outputs, workspace ? workspace : own.data()}, getPool());
}

std::vector<int32_t> readIntegers(const void *from, aclDataType type,
                                  int64_t count) {
  std::vector<int32_t> values(count);
  if (type == ACL_INT32)
    std::memcpy(values.data(), from, count * sizeof(int32_t));
  else
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<int32_t>(static_cast<const int64_t *>(from)[i]);
  return values;
}

float readElement(const void *from, aclDataType type, int64_t index) {
  if (type == ACL_FLOAT)
    return static_cast<const float *>(from)[index];
  if (type == ACL_FLOAT16)
    return static_cast<float>(static_cast<const _Float16 *>(from)[index]);
  const uint32_t bits =
      static_cast<uint32_t>(static_cast<const uint16_t *>(from)[index]) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void writeElement(void *to, aclDataType type, int64_t index, float value) {
  if (type == ACL_FLOAT) {
    static_cast<float *>(to)[index] = value;
    return;
  }
  if (type == ACL_FLOAT16) {
    static_cast<_Float16 *>(to)[index] = static_cast<_Float16>(value);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // This rounds to the nearest value, and to the even one between two. A NaN
  // keeps a bit of its mantissa.
  bits = value != value ? bits | 0x400000U : bits + 0x7fffU + (bits >> 16 & 1U);
  static_cast<uint16_t *>(to)[index] = static_cast<uint16_t>(bits >> 16);
}

double readNumber(const void *from, aclDataType type, int64_t index) {
  switch (type) {
  case ACL_INT32:
    return static_cast<const int32_t *>(from)[index];
  case ACL_INT64:
    return static_cast<double>(static_cast<const int64_t *>(from)[index]);
  case ACL_BOOL:
    return static_cast<const uint8_t *>(from)[index] ? 1 : 0;
  default:
    return readElement(from, type, index);
  }
}

void writeNumber(void *to, aclDataType type, int64_t index, double value) {
  switch (type) {
  case ACL_INT32:
    static_cast<int32_t *>(to)[index] = static_cast<int32_t>(value);
    return;
  case ACL_INT64:
    static_cast<int64_t *>(to)[index] = static_cast<int64_t>(value);
    return;
  case ACL_BOOL:
    static_cast<uint8_t *>(to)[index] = value != 0;
    return;
  default:
    writeElement(to, type, index, static_cast<float>(value));
  }
}

OperatorCall::OperatorCall(const char *name, uint64_t *workspaceSize,
                           aclOpExecutor **executor)
    : name(name), workspaceSize(workspaceSize), executor(executor) {
  requireThere(workspaceSize, "workspaceSize");
  requireThere(static_cast<const void *>(executor), "executor");
}

void OperatorCall::requireThere(const void *argument, llvm::StringRef operand) {
  if (!argument && !hasFailed())
    code = failOperator(ACLNN_ERR_PARAM_NULLPTR, name,
                        llvm::Twine(operand) + " is null");
}

void OperatorCall::require(bool holds, const llvm::Twine &text) {
  if (!holds && !hasFailed())
    code = failOperator(ACLNN_ERR_PARAM_INVALID, name, text);
}

void OperatorCall::requireLastDimension(const aclTensor *tensor, int64_t dim) {
  require(!tensor || dim == -1 ||
              dim + 1 == static_cast<int64_t>(tensor->dims.size()),
          "dim other than the last is not in this host library");
}

size_t OperatorCall::add(const aclTensor *tensor, llvm::StringRef operand,
                         bool isRead, bool isWritten, Layout layout) {
  requireThere(tensor, operand);
  const bool isDestroyed = tensor && !isAlive(tensor);
  require(!isDestroyed, operand + " was destroyed before the call");
  operands.push_back({tensor && !isDestroyed ? *tensor : aclTensor(), isRead,
                      isWritten, operand.str(), tensor});
  const aclTensor &added = operands.back().tensor;
  if (!hasFailed()) {
    require(added.fitsStorage(),
            llvm::Twine(operand) + " has elements outside of its storage: its "
                                   "offset, sizes and strides reach beyond");
    require(
        layout == Layout::Any || added.isDense() ||
            (layout == Layout::DenseOrTransposed && added.isDenseTransposed()),
        llvm::Twine(operand) + " has strides that leave gaps or change "
                               "the order of its elements");
    require(added.format == ACL_FORMAT_ND || added.format == ACL_FORMAT_NCHW,
            llvm::Twine(operand) + " has a private format, expected "
                                   "ACL_FORMAT_ND");
  }
  return operands.size() - 1;
}

size_t OperatorCall::read(const aclTensor *tensor, llvm::StringRef operand,
                          Layout layout) {
  return add(tensor, operand, true, false, layout);
}

size_t OperatorCall::write(const aclTensor *tensor, llvm::StringRef operand,
                           Layout layout) {
  return add(tensor, operand, false, true, layout);
}

size_t OperatorCall::update(const aclTensor *tensor, llvm::StringRef operand) {
  return add(tensor, operand, true, true, Layout::Dense);
}

TensorShape OperatorCall::getShape(size_t operand) const {
  const aclTensor &tensor = getTensor(operand);
  return {getKernelType(tensor.type).value_or(DType::F32), tensor.dims};
}

std::shared_ptr<OperatorKernel>
OperatorCall::makeKernel(const KernelSpec &spec) {
  if (hasFailed())
    return nullptr;
  auto kernel = OperatorKernel::make(spec);
  if (kernel)
    return *kernel;
  require(false, llvm::toString(kernel.takeError()));
  return nullptr;
}

aclnnStatus OperatorCall::finish(
    uint64_t workspaceBytes,
    std::function<llvm::Error(llvm::ArrayRef<void *>, void *)> body) {
  if (hasFailed())
    return code;
  auto *made = new aclOpExecutor;
  made->name = name;
  made->operands = std::move(operands);
  made->workspaceBytes = llvm::alignTo(
      std::max(workspaceBytes, getLeastWorkspace()), workspaceUnit);
  made->body = std::move(body);
  registerExecutor(made);
  *workspaceSize = made->workspaceBytes;
  *executor = made;
  return ACLNN_SUCCESS;
}

aclnnStatus OperatorCall::finishSpec(const KernelSpec &spec) {
  std::shared_ptr<OperatorKernel> kernel = makeKernel(spec);
  if (!kernel)
    return code;
  return finish(kernel->getWorkspaceBytes(),
                [kernel, inputs = spec.inputs.size()](
                    llvm::ArrayRef<void *> places, void *workspace) {
                  kernel->run(places.take_front(inputs),
                              places.drop_front(inputs), workspace);
                  return llvm::Error::success();
                });
}

aclnnStatus OperatorCall::finishKernel(llvm::StringRef kernel,
                                       AttributeMap attributes) {
  KernelSpec spec;
  spec.name = kernel.str();
  spec.attributes = std::move(attributes);
  for (size_t i = 0; i < operands.size(); ++i) {
    require(getKernelType(operands[i].tensor.type).has_value(),
            operands[i].name + " has an element type that the operator does "
                               "not take");
    (operands[i].isWritten ? spec.outputs : spec.inputs).push_back(getShape(i));
  }
  return finishSpec(spec);
}

} // namespace mf::hostcann

#define GET_ACLNN_OPERATORS
#include "aclnnop/aclnn.inc"

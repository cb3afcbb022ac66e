//===- Parts.cpp - What ranks have of whole tensors -----------------------===//

#include "Parts.h"
#include "mf/Data/ElementConversion.h"

using namespace mlir;

namespace mf::interpreter {

void Part::place(const program::Mesh &mesh, int64_t rank,
                 llvm::ArrayRef<std::vector<std::string>> axes) {
  shape = whole;
  first.assign(whole.dims.size(), 0);
  for (size_t dim = 0; dim < axes.size() && dim < first.size(); ++dim) {
    shape.dims[dim] /= mesh.getNumParts(axes[dim]);
    first[dim] = mesh.getPart(rank, axes[dim]) * shape.dims[dim];
  }
}

Part::Part(const program::Mesh &mesh, int64_t rank, const TensorShape &whole,
           llvm::ArrayRef<std::vector<std::string>> axes)
    : whole(whole) {
  place(mesh, rank, axes);
}

Part::Part(const program::Mesh &mesh, int64_t rank, ir::LayoutAttr layout,
           const TensorShape &whole)
    : whole(whole) {
  std::vector<std::vector<std::string>> axes;
  if (layout)
    for (auto list : layout.getCuts().getAsRange<ArrayAttr>()) {
      axes.emplace_back();
      for (auto axis : list.getAsRange<StringAttr>())
        axes.back().push_back(axis.str());
    }
  if (layout) {
    std::vector<std::string> reduced;
    for (auto axis : layout.getReduced().getAsRange<StringAttr>())
      reduced.push_back(axis.str());
    summand = mesh.getPart(rank, reduced);
  }
  place(mesh, rank, axes);
}

int64_t Part::getWholeElement(int64_t element) const {
  int64_t result = 0, stride = 1;
  for (size_t dim = first.size(); dim-- > 0;) {
    result += (first[dim] + element % shape.dims[dim]) * stride;
    element /= shape.dims[dim];
    stride *= whole.dims[dim];
  }
  return result;
}

void Part::take(llvm::ArrayRef<uint8_t> from,
                llvm::MutableArrayRef<uint8_t> to) const {
  const size_t size = getBytes(shape.type);
  for (int64_t i = 0, count = shape.getNumElements(); i < count; ++i)
    llvm::copy(from.slice(getWholeElement(i) * size, size),
               to.begin() + i * size);
}

void Part::put(llvm::ArrayRef<uint8_t> from,
               llvm::MutableArrayRef<uint8_t> to) const {
  const size_t size = getBytes(shape.type);
  for (int64_t i = 0, count = shape.getNumElements(); i < count; ++i)
    llvm::copy(from.slice(i * size, size),
               to.begin() + getWholeElement(i) * size);
}

static std::vector<float> toFloats(DType type, llvm::ArrayRef<uint8_t> bytes) {
  std::vector<float> floats(bytes.size() / getBytes(type));
  llvm::cantFail(convertElements(type, bytes, DType::F32,
                                 {reinterpret_cast<uint8_t *>(floats.data()),
                                  floats.size() * sizeof(float)}));
  return floats;
}

void Part::addTo(llvm::ArrayRef<uint8_t> from,
                 llvm::MutableArrayRef<uint8_t> to) const {
  std::vector<uint8_t> bytes(from.size());
  take(to, bytes);
  std::vector<float> sum = toFloats(shape.type, bytes);
  for (auto [element, added] : llvm::zip(sum, toFloats(shape.type, from)))
    element += added;
  llvm::cantFail(convertElements(DType::F32,
                                 {reinterpret_cast<const uint8_t *>(sum.data()),
                                  sum.size() * sizeof(float)},
                                 shape.type, bytes));
  put(bytes, to);
}

void WholeTensors::add(const std::string &name, const Part &part,
                       llvm::ArrayRef<uint8_t> bytes) {
  Tensor &tensor = tensors[name];
  if (!tensor)
    tensor = Tensor(part.getWholeShape());
  std::set<int64_t> &summands = seen[{name, part.getFirstElement()}];
  if (!summands.empty())
    return;
  summands.insert(part.getSummand());
  part.put(bytes, tensor.getBytes());
}

void WholeTensors::addSummand(const std::string &name, const Part &part,
                              llvm::ArrayRef<uint8_t> bytes) {
  std::set<int64_t> &summands = seen[{name, part.getFirstElement()}];
  if (summands.empty())
    return add(name, part, bytes);
  if (summands.insert(part.getSummand()).second)
    part.addTo(bytes, tensors[name].getBytes());
}

} // namespace mf::interpreter

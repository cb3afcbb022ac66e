//===- WholeTensors.cpp - What the parts of ranks are together ------------===//

#include "WholeTensors.h"
#include "mf/Program/Attributes.h"

using namespace mlir;

namespace mf::interpreter {

static std::vector<std::string> getAxes(Attribute names) {
  std::vector<std::string> axes;
  for (auto axis : cast<ArrayAttr>(names).getAsRange<StringAttr>())
    axes.push_back(axis.str());
  return axes;
}

std::vector<int64_t> getPlaces(const program::Mesh &mesh, int64_t rank,
                               ir::ParamOp param) {
  llvm::ArrayRef<int64_t> whole = param.getTensorType().getShape();
  RankedTensorType part = param.getLocalType();
  std::vector<int64_t> places(part.getNumElements());
  for (int64_t i = 0; i < part.getNumElements(); ++i) {
    // From the last dimension on.
    int64_t rest = i, stride = 1;
    for (int64_t dim = part.getRank(); dim-- > 0;) {
      const int64_t extent = part.getDimSize(dim);
      const int64_t number =
          mesh.getPart(rank, getAxes(param.getLayoutAttr().getCuts()[dim]));
      places[i] += (number * extent + rest % extent) * stride;
      rest /= extent;
      stride *= whole[dim];
    }
  }
  return places;
}

void addPart(const program::Mesh &mesh, int64_t rank, ir::ParamOp param,
             const Tensor &part, const Tensor &whole) {
  std::vector<std::string> own = getAxes(param.getLayoutAttr().getReduced());
  for (Attribute axes : param.getLayoutAttr().getCuts())
    llvm::append_range(own, getAxes(axes));
  for (const program::Axis &axis : mesh.getAxes())
    if (axis.name != program::stageAxis &&
        !llvm::is_contained(own, axis.name) &&
        mesh.getCoordinate(rank, axis.name) != 0)
      return;
  llvm::MutableArrayRef<float> sum = whole.getElements<float>();
  llvm::ArrayRef<float> added = part.getElements<float>();
  for (auto [i, place] : llvm::enumerate(getPlaces(mesh, rank, param)))
    sum[place] += added[i];
}

} // namespace mf::interpreter

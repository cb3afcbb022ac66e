//===- CheckpointConversion.cpp - A checkpoint under other names ----------===//

#include "mf/Data/CheckpointConversion.h"
#include "mf/Data/ElementConversion.h"
#include "mf/Data/SafetensorsWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf {

namespace {

/// A tensor to write and where its rows come from.
struct PlannedTensor {
  const NamedShape *target = nullptr;
  TensorShape shape;
  std::vector<RowCopy> copies;
};

/// Tables that Hugging Face's older checkpoints keep, and the moments in a
/// checkpoint of a training.
bool isNoParameter(StringRef name) {
  return name.ends_with(".inv_freq") || name.starts_with("adam_m.") ||
         name.starts_with("adam_v.");
}

bool holdsOnly(StringRef name, ParameterPart part) {
  const std::optional<ParameterName> parsed = parseParameterName(name);
  return parsed && parsed->parts.size() == 1 && parsed->parts[0] == part;
}

int64_t getElementsPerRow(ArrayRef<int64_t> dims) {
  int64_t elements = 1;
  for (int64_t dim : dims.drop_front(std::min<size_t>(1, dims.size())))
    elements *= dim;
  return elements;
}

class Converter {
public:
  Converter(const SafetensorsCheckpoint &source,
            const CheckpointConversion &conversion)
      : source(source), conversion(conversion) {}

  Error plan() {
    for (const NamedShape &target : conversion.targets) {
      Expected<std::vector<RowCopy>> copies = planParameter(
          target.name, target.shape.dims, source, conversion.layout);
      if (!copies)
        return copies.takeError();
      PlannedTensor tensor{&target, target.shape, std::move(*copies)};
      if (Error error = chooseType(tensor))
        return error;
      for (const RowCopy &copy : tensor.copies)
        used.insert(copy.source);
      tensors.push_back(std::move(tensor));
    }
    return checkNothingIsLost();
  }

  Error write(StringRef path) const {
    SafetensorsWriter writer;
    for (const PlannedTensor &tensor : tensors)
      if (Error error = writer.declare(tensor.target->name, tensor.shape))
        return error;
    writer.setMetadata("format", conversion.format);
    if (Error error = writer.open(path))
      return error;
    for (const PlannedTensor &tensor : tensors)
      for (const RowCopy &copy : tensor.copies)
        if (Error error = writeRows(writer, tensor, copy))
          return error;
    return writer.commit();
  }

private:
  /// The type of the tensor's sources; F32, which holds the others, if they
  /// differ.
  Error chooseType(PlannedTensor &tensor) const {
    bool isFirst = true;
    for (const RowCopy &copy : tensor.copies) {
      Expected<TensorView> view = source.find(copy.source);
      if (!view)
        return view.takeError();
      const DType type = view->shape.type;
      if (!isFloatType(type))
        return createStringError("tensor '" + copy.source + "' holds " +
                                 getName(type) + ", expected f32, bf16 or f16");
      tensor.shape.type =
          isFirst || tensor.shape.type == type ? type : DType::F32;
      isFirst = false;
    }
    if (conversion.type)
      tensor.shape.type = *conversion.type;
    return Error::success();
  }

  Error checkNothingIsLost() const {
    SmallVector<StringRef> lost;
    for (const std::string &name : source.getNames())
      if (!used.contains(name) && !isNoParameter(name) && !isTiedHead(name))
        lost.push_back(name);
    if (lost.empty())
      return Error::success();
    constexpr size_t shown = 3;
    const size_t more = lost.size() - std::min(shown, lost.size());
    std::string list =
        "'" + join(ArrayRef(lost).take_front(shown), "', '") + "'";
    if (more != 0)
      list += " and " + std::to_string(more) + " more";
    return createStringError("no parameter of the model takes " + list);
  }

  /// Whether `name` is a head with the very bytes of the embedding that stands
  /// for it.
  bool isTiedHead(StringRef name) const {
    if (!conversion.layout.tiesWordEmbeddings ||
        !holdsOnly(name, ParameterPart::Head))
      return false;
    const SafetensorsEntry *head = source.lookup(name);
    for (const auto &entry : used) {
      const SafetensorsEntry *embedding = source.lookup(entry.getKey());
      if (holdsOnly(entry.getKey(), ParameterPart::Embedding))
        return head->type == embedding->type && head->bytes == embedding->bytes;
    }
    return false;
  }

  Error writeRows(SafetensorsWriter &writer, const PlannedTensor &tensor,
                  const RowCopy &copy) const {
    Expected<TensorView> view = source.find(copy.source);
    if (!view)
      return view.takeError();
    const DType from = view->shape.type, to = tensor.shape.type;
    const int64_t perRow = getElementsPerRow(tensor.shape.dims);
    int64_t element = copy.sourceRow * perRow;
    int64_t target = copy.targetRow * perRow;
    const int64_t count = copy.rows * perRow;
    if (from == to)
      return writer.write(
          tensor.target->name,
          view->bytes.slice(element * getBytes(from), count * getBytes(from)),
          target * getBytes(to));
    constexpr int64_t mostAtOnce = int64_t{1} << 20;
    std::vector<uint8_t> buffer(std::min(count, mostAtOnce) * getBytes(to));
    for (int64_t done = 0; done < count;) {
      const int64_t now = std::min(mostAtOnce, count - done);
      MutableArrayRef<uint8_t> part(buffer.data(), now * getBytes(to));
      const ArrayRef<uint8_t> bytes = view->bytes.slice(
          (element + done) * getBytes(from), now * getBytes(from));
      if (Error error = convertElements(from, bytes, to, part))
        return error;
      if (Error error = writer.write(tensor.target->name, part,
                                     (target + done) * getBytes(to)))
        return error;
      done += now;
    }
    return Error::success();
  }

  const SafetensorsCheckpoint &source;
  const CheckpointConversion &conversion;
  std::vector<PlannedTensor> tensors;
  StringSet<> used;
};

} // namespace

Error convertCheckpoint(const SafetensorsCheckpoint &source,
                        const CheckpointConversion &conversion,
                        StringRef path) {
  Converter converter(source, conversion);
  if (Error error = converter.plan())
    return error;
  return converter.write(path);
}

} // namespace mf

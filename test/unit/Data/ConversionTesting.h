//===- ConversionTesting.h - Tensors that are renamed ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_DATA_CONVERSIONTESTING_H
#define MF_TEST_UNIT_DATA_CONVERSIONTESTING_H

#include "TestFiles.h"
#include "mf/Exec/Data/CheckpointConversion.h"
#include "test/unit/Elements.h"

namespace mf {

/// The names that a text with alternatives in braces stands for, such as
/// "layers.{0,1}.wq".
inline std::vector<std::string> expandNames(llvm::StringRef text) {
  auto [before, rest] = text.split('{');
  if (rest.empty())
    return {text.str()};
  auto [alternatives, behind] = rest.split('}');
  std::vector<std::string> names;
  for (llvm::StringRef alternative : llvm::split(alternatives, ','))
    for (const std::string &end : expandNames(behind))
      names.push_back((before + alternative + end).str());
  return names;
}

/// Tensors in lines of names and shapes, such as "norm.weight 8xbf16". Without
/// a type they are of fp32.
inline std::vector<NamedShape> listTensors(llvm::StringRef text) {
  std::vector<NamedShape> list;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    auto [names, sizes] = line.trim().split(' ');
    if (names.empty())
      continue;
    TensorShape shape{DType::F32, {}};
    for (llvm::StringRef size : llvm::split(sizes, 'x')) {
      int64_t dim = 0;
      if (!size.getAsInteger(10, dim))
        shape.dims.push_back(dim);
      else
        shape.type = parseDType(size).value();
    }
    for (const std::string &name : expandNames(names))
      list.push_back({name, shape});
  }
  return list;
}

/// Converts files of tensors in a folder.
class ConversionFixture : public ::testing::Test {
protected:
  /// Writes tensors whose elements are 1, 2 and so on over all of them.
  void write(const std::string &file, llvm::ArrayRef<NamedShape> list) {
    std::vector<NamedTensor> tensors;
    std::vector<std::vector<uint8_t>> storage;
    float next = 0;
    for (const NamedShape &tensor : list) {
      std::vector<float> values(tensor.shape.getNumElements());
      for (float &value : values)
        value = ++next;
      storage.emplace_back(tensor.shape.getBytes());
      writeElements<uint8_t>(values, tensor.shape.type, storage.back());
      tensors.push_back({tensor.name, tensor.shape, storage.back()});
    }
    EXPECT_EQ(message(writeSafetensors(directory.path(file), tensors)), "");
  }

  std::string convert(const std::string &from, const std::string &to,
                      llvm::ArrayRef<NamedShape> targets,
                      std::optional<DType> type = {}) {
    return message(convertCheckpoint(
        cantFail(SafetensorsCheckpoint::open(directory.path(from))),
        {targets.vec(), layout, type, "pt"}, directory.path(to)));
  }

  /// The elements of a tensor, which is of this type.
  std::vector<float> read(const std::string &file, llvm::StringRef name,
                          DType type = DType::F32) {
    const SafetensorsFile opened =
        cantFail(SafetensorsFile::open(directory.path(file)));
    const TensorView view = cantFail(opened.find(name));
    EXPECT_EQ(view.shape.type, type);
    return readElements<uint8_t>(type, view.bytes);
  }

  /// Converts `list` to `scheme` and back, which changes nothing.
  void goThere(llvm::ArrayRef<NamedShape> list, NameScheme scheme) {
    SCOPED_TRACE(getName(scheme).str());
    llvm::Expected<std::vector<NamedShape>> other =
        convertParameterList(list, scheme, layout);
    ASSERT_TRUE(bool(other)) << message(std::move(other));
    write("own", list);
    ASSERT_EQ(convert("own", "expected", list), "");
    ASSERT_EQ(convert("own", "other", *other), "");
    ASSERT_EQ(convert("other", "back", list), "");
    EXPECT_EQ(readFile(directory.path("expected")),
              readFile(directory.path("back")));
  }

  TemporaryDirectory directory;
  ParameterLayout layout;
};

} // namespace mf

#endif // MF_TEST_UNIT_DATA_CONVERSIONTESTING_H

# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=x.cpp -DNAMESPACE=a::b -DFUNCTION=getFoo -DFILES="p;q" -P EmbedText.cmake
#
# Writes a source that defines `llvm::StringRef FUNCTION(llvm::StringRef name)`: the text of the
# file with this name, without folders, or an empty text if no file has the name.
set(text "#include \"llvm/ADT/StringSwitch.h\"\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND text "llvm::StringRef ${FUNCTION}(llvm::StringRef name) {\n")
string(APPEND text "  return llvm::StringSwitch<llvm::StringRef>(name)\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" content)
  string(APPEND text "      .Case(\"${name}\", R\"~~~~(${content})~~~~\")\n")
endforeach()
string(APPEND text "      .Default(\"\");\n}\n\n} // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${text}")

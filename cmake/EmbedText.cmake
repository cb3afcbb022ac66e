# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=x.cpp -DNAMESPACE=a::b -DFUNCTION=getFoo -DFILES="p;q" -P EmbedText.cmake
#
# Writes a source that defines `llvm::StringRef FUNCTION(llvm::StringRef name)`: the text of one of
# the files by its name without folders; empty for a name that there is not.
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

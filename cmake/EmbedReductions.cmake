# cmake -DTYPES=... -DFOLDER=... -DOUTPUT=... -P EmbedReductions.cmake: writes the C++ source with the PTX of each element type in FOLDER.

set(_arrays)
set(_cases)
foreach(_type IN LISTS TYPES)
  file(READ "${FOLDER}/Reduce.${_type}.ptx" _bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," _bytes "${_bytes}")
  string(APPEND _arrays "static const unsigned char ptx_${_type}[] = {${_bytes}};\n")
  string(APPEND _cases "  case artifact::ElementType::${_type}: return std::as_bytes(std::span(ptx_${_type}));\n")
endforeach()
file(WRITE "${OUTPUT}" "// Generated from Reduce.cu.
#include \"runtime/device/cuda/CudaReductions.h\"

namespace lockstep::runtime {

${_arrays}
std::span<const std::byte> reducePtx(artifact::ElementType element) {
  switch (element) {
${_cases}  default: return {};
  }
}

} // namespace lockstep::runtime
")

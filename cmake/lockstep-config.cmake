# Found by `find_package(lockstep)`: what the runtime's libraries link, then their targets.
include(CMakeFindDependencyMacro)
find_dependency(FlatBuffers CONFIG)
find_dependency(fmt)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(nlohmann_json)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/lockstep.cmake")

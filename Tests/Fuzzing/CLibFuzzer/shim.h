#include <stddef.h>
#include <stdint.h>

// libFuzzer as a library: the program keeps a `main` of its own (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test)(const uint8_t *start, size_t count));

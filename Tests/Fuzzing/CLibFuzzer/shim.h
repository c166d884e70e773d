#include <stddef.h>
#include <stdint.h>

// libFuzzer as a library, so that the program has its own `main`
// (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test)(const uint8_t *start, size_t count));

// Fuzzes the messages and their JSON (Tests/Fuzzing/Checks/MessagesCheck.swift). libFuzzer is called as a library, so that this
// file has an ordinary `main`; `make test-long LONG=fuzz` passes the corpus folders.

import CLibFuzzer
import FuzzChecks

@main struct FuzzMessages {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.messages.test(start, count) }
    }
}

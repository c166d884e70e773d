// Fuzzes a rider's report queue (Tests/Fuzzing/Checks/ReportQueueCheck.swift). libFuzzer is called as a library, so that this
// file has an ordinary `main`; `make test-long LONG=fuzz` passes the corpus folders.

import CLibFuzzer
import FuzzChecks

@main struct FuzzReportQueue {
    static func main() {
        var count = CommandLine.argc
        var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        _ = LLVMFuzzerRunDriver(&count, &words) { start, count in FuzzCheck.reportQueue.test(start, count) }
    }
}

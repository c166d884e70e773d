import Resilience
import Testing

@Suite struct XTests {
    @Test func `x`() { }
}

import Fanout
import Resilience
import Testing

@Suite struct SimulationTests {
    @Test func `x`() { }
}
